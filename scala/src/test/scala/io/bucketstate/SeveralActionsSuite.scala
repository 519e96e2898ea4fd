package io.bucketstate

import java.nio.file.{Files, Path}

import scala.collection.mutable.ArrayBuffer
import scala.jdk.CollectionConverters._
import scala.util.Using

import org.apache.spark.sql.streaming.{StreamingQuery, StreamingQueryProgress}
import org.apache.spark.sql.{DataFrame, SparkSession}
import org.scalatest.concurrent.Eventually
import org.scalatest.time.{Millis, Seconds, Span}

import io.bucketstate.testkit.{Queries, Seeds, TidySuite}

/** `foreachBatch` with several actions: each runs the stage with the state once more, at the same version. */
class SeveralActionsSuite extends TidySuite with Queries with Eventually {
  import SeveralActionsSuite._

  implicit override val patienceConfig: PatienceConfig =
    PatienceConfig(timeout = Span(30, Seconds), interval = Span(50, Millis))

  /** What a query has told and put out, over its restart. */
  private final class Run {
    val progress: ArrayBuffer[StreamingQueryProgress] = ArrayBuffer.empty[StreamingQueryProgress]
    val counted: ArrayBuffer[Map[String, Long]] = ArrayBuffer.empty[Map[String, Long]]
    var fewest: Set[String] = Set.empty[String] // files in the middle of it
    var files: Set[String] = Set.empty[String]

    def sum(metric: String): Long = progress.iterator
      .filter(_.numInputRows > 0)
      .flatMap(_.stateOperators)
      .map(_.customMetrics.get(metric).longValue)
      .sum
  }

  private def run(
      spark: SparkSession,
      folder: Path,
      batches: Int,
      isCached: Boolean
  ): Run = {
    import spark.implicits._
    val input = memoryStream[(String, Long)](spark)
    val sums = input.toDF().toDF("key", "n").groupBy("key").sum("n").toDF("key", "sum")
    val run = new Run
    val actions = (batch: DataFrame, number: Long) => {
      val rows = if (isCached) batch.persist() else batch
      val count = rows.count()
      rows.write.mode("overwrite").parquet(folder.resolve(s"out/$number").toString)
      val all = rows.as[(String, Long)].collect()
      assert(count == all.length)
      run.counted += all.toMap
      if (isCached) { rows.unpersist(); () }
    }
    def start(): StreamingQuery = sums.writeStream
      .outputMode("complete")
      .option("checkpointLocation", folder.resolve("checkpoint").toString)
      .foreachBatch(actions)
      .start()
    (0 until batches).grouped(batches / 2).foreach { half =>
      val query = start()
      try {
        half.foreach(n => addAndWait(input, query, (0 until 20).map(k => s"k$k" -> n.toLong)))
        run.progress ++= query.recentProgress
        run.fewest = run.files
        eventually(assert(changelogs(stateOf(folder)).size <= 2 * Most))
        run.files = stateOf(folder)
      } finally query.stop()
    }
    run
  }

  private def stateOf(folder: Path): Set[String] =
    Using.resource(Files.walk(folder.resolve("checkpoint/state/0"))) {
      _.iterator.asScala.filter(Files.isRegularFile(_)).map(_.toString).toSet
    }

  private def changelogs(files: Set[String]): Set[String] = files.filter(_.endsWith(".changelog"))

  for {
    (format, isCached, batches) <-
      Seq(
        ("2", false, Seeds.of(16, 24)),
        ("2", false, 60),
        ("1", true, 16),
        ("2", true, 16),
        ("1", false, 16)
      )
        .take(Seeds.of(1, 5))
  } {
    val cached = if (isCached) "cached" else "not cached"
    test(s"each of $batches batches finds the state in memory, in format $format, $cached") {
      withSession(
        CheckpointFormat -> format,
        "spark.sql.streaming.minBatchesToRetain" -> "2",
        "spark.sql.streaming.numRecentProgressUpdates" -> "1000"
      ) { (spark, folder) =>
        val done = run(spark, folder, batches, isCached)
        val wanted = (0 until batches).map { n =>
          (0 until 20).map(k => s"k$k" -> (0L to n.toLong).sum).toMap
        }
        assert(done.counted == wanted)
        // Both stores, after the start and after the restart.
        assert(done.sum("bucketedTableReloads") == 2 * 2)
        assert(done.sum("bucketedSnapshots") >= batches / 4)
        assert(done.files.size <= 2 * done.fewest.size)
      }
    }
  }
}

private object SeveralActionsSuite {
  val CheckpointFormat = "spark.sql.streaming.stateStore.checkpointFormatVersion"

  /** Changelogs of a store that may be left: those to retain, those since the last snapshot, and some that are on their way. */
  val Most = 10
}
