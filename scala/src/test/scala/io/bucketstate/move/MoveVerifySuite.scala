package io.bucketstate.move

import java.nio.file.{Files, Path}
import java.time.Clock

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{Path => HadoopPath}
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.execution.streaming.state.{SparkSessions, StoreMaintenance}
import org.apache.spark.sql.functions.sum
import org.apache.spark.util.SerializableConfiguration

import io.bucketstate.Checkpoints
import io.bucketstate.error.CorruptException
import io.bucketstate.move.job.{ImportReader, Progress, StoreJob, StoreMoved, StoreWork}
import io.bucketstate.move.read.OwnRecords
import io.bucketstate.move.write.Place.Moved
import io.bucketstate.move.write.{Place, RunTarget}
import io.bucketstate.testkit.{ProviderHarness, TidySuite}

/** What reading back finds: a target that is not what was read, in whatever way. */
class MoveVerifySuite extends TidySuite with CountsToMove {
  import MoveVerifySuite._

  private val rows = (0L until 60L).map(k => (k % 20, k))

  test(
    "a value that is another, a key that is gone, one more, and keys in each other's partitions"
  ) {
    withSession() { (spark, folder) =>
      val whole = written(spark, folder, "whole", rows)
      assert(whole.job.readBack(whole.moved) == whole.moved.kept)
      assert(whole.moved.kept.keys == 20)
      for (
        (what, other) <- Seq(
          "flipped" -> rows.updated(7, (7L, 8L)),
          "dropped" -> rows.filterNot(_._1 == 7),
          "added" -> (rows :+ ((99L, 1L)))
        )
      ) {
        val tampered = written(spark, folder, what, other)
        replace(whole.target.resolve("state"), tampered.target.resolve("state"))
        assert(whole.job.readBack(whole.moved) != whole.moved.kept, what)
      }
      val again = written(spark, folder, "again", rows)
      val operator = again.target.resolve("state/0")
      swap(operator.resolve("0"), operator.resolve("1"))
      assert(damageOf(again).contains("do not lie in the partition of their hash"))
    }
  }

  test("a single key in another partition than that of its hash, or in another bucket") {
    withSession() { (spark, folder) =>
      def tampered(name: String)(place: Array[Byte] => Array[Byte]): Written = {
        val one = written(spark, folder, name, rows)
        val all = placed(one)
        val (first, value) = all.head
        writeAgain(one, (place(first) -> value) +: all.tail)
        one
      }
      val same = tampered("same")(identity)
      assert(same.job.readBack(same.moved) == same.moved.kept)
      val elsewhere = tampered("elsewhere") { place =>
        moved(place, (Place.partition(place) + 1) % same.work.targets, Place.bucket(place))
      }
      assert(damageOf(elsewhere).contains("1 keys do not lie in the partition of their hash"))
      val apart = tampered("apart") { place =>
        moved(place, Place.partition(place), (Place.bucket(place) + 1) % same.work.numBuckets)
      }
      assert(damageOf(apart).contains("expected a key of bucket"))
    }
  }

  test("keys are counted on the way to every provider, also where nothing is read back") {
    withSession() { (spark, folder) =>
      val source = folder.resolve("source")
      countInto(spark, source)
      for (to <- Seq("hdfs", "rocksdb", "bucketstate")) {
        val kind = if (to == "bucketstate") MoveKind.Rewrite else MoveKind.Export
        val request = MoveRequest(
          kind,
          source.toString,
          folder.resolve(to).toString,
          to = to,
          partitions = Some(3),
          verifyFully = false
        )
        val report = Checkpoints.plan(spark, request).run()
        val moved = report.stores.head
        assert((moved.writtenKeys, moved.kept.keys) == ((CountsToMove.Keys, CountsToMove.Keys)), to)
        assert(moved.copy(written = moved.written.tail).writtenKeys < CountsToMove.Keys, to)
      }
    }
  }

  /** A state in a source of its own, moved but for the logs. */
  private def written(
      spark: SparkSession,
      folder: Path,
      name: String,
      rows: Seq[(Long, Long)]
  ): Written = {
    import spark.implicits._
    spark.conf.set(
      "spark.sql.streaming.stateStore.providerClass",
      CountsToMove.Providers("hdfs")
    )
    val input = memoryStream[(Long, Long)](spark)
    val query =
      updates(input.toDF().groupBy("_1").agg(sum("_2")), folder.resolve(s"$name-source"))
    try addAndWait(input, query, rows)
    finally query.stop()
    StoreMaintenance.stop()
    val target = folder.resolve(name)
    val request = MoveRequest(
      MoveKind.Import,
      folder.resolve(s"$name-source").toString,
      target.toString,
      partitions = Some(3)
    )
    val planned = new Planner(spark, request, None, Clock.systemUTC()).plan()
    val hadoop = new SerializableConfiguration(SparkSessions.hadoopConf(spark))
    val progress = new Progress(spark.sparkContext)
    val work = planned.works.head
    val job = new StoreJob(spark, work, spark.sparkContext.broadcast(hadoop), progress)
    val moved = job.copy()
    job.publish(moved)
    Written(job, work, moved, target, hadoop.value)
  }

  /** What reading back says of it. */
  private def damageOf(written: Written): String = {
    val error = intercept[Exception](written.job.readBack(written.moved))
    val causes = Iterator.iterate[Throwable](error)(_.getCause).takeWhile(_ != null).toSeq
    causes.collectFirst { case e: CorruptException => e.getMessage }.getOrElse(fail(error))
  }

  /** What a move writes, by its places. */
  private def placed(written: Written): Seq[Moved] = written.work.sources.flatMap { p =>
    val reader = new ImportReader(written.work, p, written.hadoop, _ => ())
    try reader.toList
    finally reader.close()
  }

  /** The target as a job with a defect would leave it. */
  private def writeAgain(written: Written, all: Seq[Moved]): Unit = {
    import written.work
    for (p <- 0 until work.targets) {
      val folder = work.store.folder(new HadoopPath(work.to), p)
      val config = OwnRecords.configOf(work.targetConf)
      ProviderHarness.deleteAll(Path.of(folder.toUri.getPath))
      val rows = all.filter(m => Place.partition(m._1) == p).sortBy(_._1)(Place.ordering)
      val manifest = new RunTarget(
        work.families,
        work.numBuckets,
        work.target,
        work.hasIds,
        config,
        written.hadoop
      ).write(s"of partition $p", folder, rows.iterator)
      RunTarget.publish(manifest, folder, work.isInPlace, config, written.hadoop)
    }
  }

  private def moved(place: Array[Byte], partition: Int, bucket: Int): Array[Byte] = {
    val other = place.clone()
    Place.put(other, partition, Place.family(place), bucket)
    other
  }

  private def replace(old: Path, other: Path): Unit = {
    Files.move(old, old.resolveSibling(s"${old.getFileName}-${other.getParent.getFileName}"))
    Files.move(other, old)
    ()
  }

  private def swap(one: Path, other: Path): Unit = {
    val aside = one.resolveSibling("aside")
    Files.move(one, aside)
    Files.move(other, one)
    Files.move(aside, other)
    ()
  }
}

private object MoveVerifySuite {
  final case class Written(
      job: StoreJob,
      work: StoreWork,
      moved: StoreMoved,
      target: Path,
      hadoop: Configuration
  )
}
