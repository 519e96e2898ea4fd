package io.bucketstate.checkpoint.snapshot

import java.util.UUID

import scala.collection.immutable.SortedMap
import scala.util.Random

import io.bucketstate.checkpoint.io.RunName
import io.bucketstate.checkpoint.run.{BucketSpan, Run, RunFile, TimeSpan, VersionSpan}
import io.bucketstate.record.{TimeBuckets, TimedValue}
import io.bucketstate.testkit.TidySuite

/** Files that are left out because all they hold has expired: nobody who reads the rest sees a difference. */
class ExpiredFilesSuite extends TidySuite {
  import ExpiredFilesSuite._

  for (seed <- 1 to 300)
    test(s"the state is the same without them, seed $seed") {
      val random = new Random(seed.toLong)
      val horizon = random.nextInt(100).toLong
      val runs = (1 to 1 + random.nextInt(5)).map(n => someRun(n, random)).reverse
      val times = TimeBuckets(100, horizon, TimedValue.Never, 0, SortedMap.empty)
      val left = ExpiredFiles.leftOut(runs.map(_._1), Map(0 -> times))
      val kept = left.flatMap(_.files).toSet
      def state(files: RunFile => Boolean) =
        runs.reverse
          .flatMap { case (run, content) => run.files.filter(files).flatMap(content) }
          .foldLeft(Map.empty[(Int, Int), Option[Long]])(_ + _)
          .collect { case (key, Some(time)) if time >= horizon => key -> time }
      assert(state(kept) == state(_ => true))
      assert(left.map(_.versions) == runs.map(_._1.versions))
    }

  test("what is behind the horizon goes from the oldest run up, and not from above what is not") {
    def file(n: Int, first: Int, times: Option[TimeSpan]) =
      RunFile(s"runs/$n", 1, 1, 0, Seq(BucketSpan(0, first, first + 1)), 0, times)
    val old = Some(TimeSpan(10, 40))
    val young = Some(TimeSpan(30, 60))
    val runs = Seq(
      Run(VersionSpan(3, 3), Seq(file(1, 0, old), file(2, 2, old), file(3, 4, old))),
      Run(VersionSpan(2, 2), Seq(file(4, 0, old), file(5, 2, None))),
      Run(VersionSpan(1, 1), Seq(file(6, 0, old), file(7, 4, young)))
    )
    val times = TimeBuckets(100, 50, TimedValue.Never, 0, SortedMap.empty)
    val left = ExpiredFiles.leftOut(runs, Map(0 -> times)).map(_.files.map(_.name.drop(5).toInt))
    assert(left == Seq(Seq(2, 3), Seq(5), Seq(7)))
  }
}

private object ExpiredFilesSuite {

  /** What a file has of its keys: a time, or None for a removal. */
  private type Content = RunFile => Seq[((Int, Int), Option[Long])]

  private def someRun(n: Int, random: Random): (Run, Content) = {
    // Few keys and any times, so that newer records are often older by their time.
    val records = (for {
      bucket <- 0 until 4
      key <- 0 until 3 if random.nextBoolean()
    } yield (bucket, key) -> Option.when(n == 1 || random.nextInt(4) > 0)(
      random.nextInt(100).toLong
    )).toMap
    val files = records
      .groupBy { case ((bucket, _), time) => (bucket / 2, time.fold(0L)(_ / 50)) }
      .toSeq
      .zipWithIndex
      .map { case ((_, part), i) =>
        val buckets = part.keys.map(_._1)
        val all = part.values.flatten
        val file = RunFile(
          RunName(n.toLong, i, new UUID(n.toLong, i.toLong)).name,
          1,
          part.size.toLong,
          part.values.count(_.isEmpty).toLong,
          Seq(BucketSpan(0, buckets.min, buckets.max)),
          0,
          Option.when(all.nonEmpty)(TimeSpan(all.min, all.max))
        )
        file -> part.toSeq
      }
      .toMap
    (Run(VersionSpan(n.toLong, n.toLong), files.keys.toSeq), files.getOrElse(_, Nil))
  }
}
