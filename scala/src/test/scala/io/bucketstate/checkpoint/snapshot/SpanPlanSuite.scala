package io.bucketstate.checkpoint.snapshot

import java.util.UUID

import org.scalacheck.Gen
import org.scalatest.tags.Slow
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks

import io.bucketstate.checkpoint.io.RunName
import io.bucketstate.checkpoint.run.{BucketCuts, BucketSpan, Run, RunFile, VersionSpan}
import io.bucketstate.testkit.{Seeds, TidySuite}

/** Carries the plan out on sizes alone, and counts what is merged. */
@Slow
class SpanPlanSuite extends TidySuite with ScalaCheckPropertyChecks {
  import SpanPlanSuite._

  /** @param from GB that it has at first */
  private def mergesLittle(name: String, from: Long, snapshots: Int): Unit =
    test(
      s"a state that $name 50 GB, by 64 MB: merges are logarithmic, even, and never of much at a time"
    ) {
      val state = new Simulation(maxRuns = 12, maxBytes = 1L << 30)
      val whole = new Whole(maxRuns = 12)
      state.snapshot(from << 30, from << 30)
      whole.snapshot(from << 30, from << 30)
      (1 to snapshots).foreach { n =>
        val live = (from << 30) + ((50L - from) << 30) * n / snapshots
        state.snapshot(64L << 20, live)
        whole.snapshot(64L << 20, live)
      }
      val bytes = (64L << 20) * snapshots
      val late = state.merged.drop(snapshots / 2).map(_.toDouble / (64L << 20)) // once all is cut
      val factor = 1 + state.written.toDouble / bytes
      info(
        f"$factor%.1f bytes written per byte; merged per snapshot ${late.sum / late.size}%.1f of " +
          f"its bytes, at most ${late.max}%.0f; largest merge ${state.largest.toDouble / (1 << 30)}%.2f GB; most levels " +
          s"${state.deepest}, runs ${state.runs.size}, files ${state.runs.map(_.files.size).sum}"
      )
      val wholeFactor = 1 + whole.written.toDouble / bytes
      info(
        f"without spans $wholeFactor%.1f bytes written per byte; most merged beside a snapshot " +
          f"${whole.merged.max.toDouble / (64L << 20)}%.0f of its bytes, that is ${whole.merged.max.toDouble / (1 << 30)}%.0f GB"
      )
      assert(factor <= 1.5 * wholeFactor)
      assert(state.largest * 10 <= whole.merged.max)
      assert(factor <= 5)
      assert(state.largest <= (5L << 29))
      assert(late.max * (64L << 20) <= (2L << 30))
      assert(state.deepest <= 2 * 12)
    }

  mergesLittle("grows to", 1L, 800)
  Seeds.atNight(mergesLittle("is written over in", 50L, 1600))

  private val sizes = Gen.zip(
    Gen.choose(1, 300),
    Gen.choose(1L, 1000L),
    Gen.listOfN(3, Gen.choose(0L, 100000L))
  )

  test("spans are of half the bytes at most, or of one bucket, and each is within one of fewer") {
    forAll(sizes, minSuccessful(300)) { case (numBuckets, maxBytes, bytes) =>
      val cuts = BucketCuts.of(bytesOf(bytes), numBuckets, maxBytes)
      val coarser = BucketCuts.of(bytesOf(bytes.map(_ / 3)), numBuckets, maxBytes)
      assert(cuts.isDivided == bytes.sum > maxBytes)
      if (cuts.isDivided) bytes.zipWithIndex.foreach { case (size, family) =>
        val spans = (0 until numBuckets).map(cuts.spanOf(family, _))
        assert(spans == spans.sorted)
        val count = spans.distinct.size
        assert(count == numBuckets || size / count <= maxBytes / 2)
        if (coarser.isDivided) (1 until numBuckets).foreach { bucket =>
          val isCut = coarser.spanOf(family, bucket) != coarser.spanOf(family, bucket - 1)
          if (isCut) assert(spans(bucket) != spans(bucket - 1))
        }
      }
    }
  }

  private val runs = for {
    count <- Gen.choose(1, 6)
    files <- Gen.listOfN(
      count,
      Gen.listOf(Gen.zip(Gen.choose(0, 15), Gen.choose(0, 5), Gen.choose(0, 2), Gen.choose(0, 1)))
    )
  } yield files.zipWithIndex.map { case (all, i) =>
    val made = all.zipWithIndex.map { case ((first, more, family, families), n) =>
      val spans = (family to family + families).map(f => BucketSpan(f, first, first + more))
      RunFile(nameOf(count - i, n), 100, 1, 0, spans, 0)
    }
    Run(VersionSpan((count - i).toLong, (count - i).toLong), made)
  }

  test(
    "no file reaches out of a span, whatever files there are, and merges take all of the newest"
  ) {
    forAll(runs, Gen.choose(1L, 400L), Gen.choose(1, 4), minSuccessful(300)) {
      (all, maxBytes, maxRuns) =>
        val live = new LiveBytes(Map(0 -> 10L, 1 -> 10L, 2 -> 10L, 3 -> 10L), all)
        val spans = StateSpan.of(all, live.cuts(0, 21, maxBytes), live)
        assert(spans.flatMap(_.levels).flatMap(_.files).toSet == all.flatMap(_.files).toSet)
        for {
          (a, i) <- spans.zipWithIndex
          b <- spans.drop(i + 1)
          file <- a.levels.flatMap(_.files)
          other <- b.levels.flatMap(_.files)
        } assert(!file.overlaps(other))
        val plan = SpanPlan(spans, maxRuns + 1, maxRuns)
        assert(spans.forall(s => s.depth <= maxRuns || plan.exists(_.names.exists(namesOf(s)))))
        plan.foreach { merge =>
          val span = spans.find(s => merge.names.subsetOf(namesOf(s))).get
          assert(merge.merged == span.levels.take(merge.merged.size))
          assert(merge.isWhole == (merge.merged.size == span.depth))
          assert(merge.isIn(all))
          val result = merge.appliedTo(all, Nil)
          assert(
            result.flatMap(_.files).toSet == all.flatMap(_.files).toSet -- merge.merged.flatMap(
              _.files
            )
          )
          assert(result.head.versions.last == all.head.versions.last)
          assert(result.last.versions.first == all.last.versions.first)
        }
    }
  }
}

private object SpanPlanSuite {
  private val EntryBytes = 100L
  private val NumBuckets = 256

  private def bytesOf(sizes: Seq[Long]): Map[Int, Long] =
    sizes.zipWithIndex.map { case (size, i) => i -> size }.toMap

  private def namesOf(span: StateSpan): Set[String] =
    span.levels.flatMap(_.files).map(_.name).toSet

  private def nameOf(version: Int, number: Int): String =
    RunName(version.toLong, number, new UUID(version.toLong, number.toLong)).name

  /** The same store, if its state were merged as one of any size: what was merged is there with the next snapshot. */
  private final class Whole(maxRuns: Int) {
    var merged: Vector[Long] = Vector.empty // bytes read per snapshot
    var written = 0L
    private var runs = Seq.empty[Long]
    private var underWay = 0 // of the newest runs

    def snapshot(incoming: Long, live: Long): Unit = {
      if (underWay > 0) {
        val (newest, older) = runs.splitAt(underWay)
        val result = if (older.isEmpty) math.min(newest.sum, live) else newest.sum
        written += result
        runs = result +: older
      }
      underWay = CompactionPlan(incoming, runs, live, maxRuns) match {
        case CompactionPlan.Append        => 0
        case CompactionPlan.Merge(newest) => newest + 1
        case CompactionPlan.Rewrite       => if (runs.isEmpty) 0 else runs.size + 1
      }
      runs = incoming +: runs
      merged :+= runs.take(underWay).sum
    }
  }

  /** A store whose keys are changed evenly: what was merged beside one snapshot is named by the next. */
  private final class Simulation(maxRuns: Int, maxBytes: Long) {
    var runs: Seq[Run] = Nil
    var merged: Vector[Long] = Vector.empty // bytes read per snapshot
    var written = 0L
    var largest = 0L
    var deepest = 0
    private var version = 0
    private var files = 0
    private var cutsThen = BucketCuts.None
    private var underWay = Seq.empty[SpanMerge]

    def snapshot(incoming: Long, live: Long): Unit = {
      version += 1
      runs = underWay.foldLeft(runs) { (all, merge) =>
        val bytes = if (merge.isWhole) math.min(merge.bytes, liveOf(merge, live)) else merge.bytes
        written += bytes
        merge.appliedTo(all, cut(bucketsOf(merge), bytes, cutsThen))
      }
      val keys = Map(0 -> live / EntryBytes)
      val before = new LiveBytes(keys, runs)
      val cuts = before.cuts(incoming, NumBuckets, maxBytes)
      val made = cut(BucketSpan(0, 0, NumBuckets - 1), incoming, cuts)
      runs = Run(VersionSpan(version.toLong, version.toLong), made) +: runs
      cutsThen = cuts
      val all =
        if (cuts.isDivided) StateSpan.of(runs, cuts, new LiveBytes(keys, runs)) else Nil
      underWay =
        SpanPlan(all, maxRuns + 1, maxRuns, math.max(maxBytes, SpanPlan.MostPerByte * incoming))
      deepest = math.max(deepest, all.iterator.map(_.depth).maxOption.getOrElse(0))
      largest = math.max(largest, underWay.iterator.map(_.bytes).maxOption.getOrElse(0L))
      merged :+= underWay.iterator.map(_.bytes).sum
    }

    private def bucketsOf(merge: SpanMerge): BucketSpan = {
      val all = merge.merged.flatMap(_.files).flatMap(_.buckets)
      BucketSpan(0, all.map(_.first).min, all.map(_.last).max)
    }

    private def liveOf(merge: SpanMerge, live: Long): Long = {
      val buckets = bucketsOf(merge)
      live * (buckets.last - buckets.first + 1) / NumBuckets
    }

    private def cut(all: BucketSpan, bytes: Long, cuts: BucketCuts): Seq[RunFile] = {
      val spans = (all.first to all.last).groupBy(cuts.spanOf(0, _)).toSeq.sortBy(_._1).map(_._2)
      spans.map { buckets =>
        val part = bytes * buckets.size / (all.last - all.first + 1)
        file(BucketSpan(0, buckets.head, buckets.last), part)
      }
    }

    private def file(buckets: BucketSpan, bytes: Long): RunFile = {
      files += 1
      RunFile(nameOf(version, files), bytes, bytes / EntryBytes, 0, Seq(buckets), 0)
    }
  }
}
