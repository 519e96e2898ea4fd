package io.bucketstate.spark.plan

import java.nio.file.{Files, Path}

import scala.jdk.CollectionConverters._
import scala.util.Using

import org.apache.spark.sql.execution.streaming.state.OfflineStateRepartitionRunner
import org.apache.spark.sql.{DataFrame, SparkSession}
import org.scalatest.tags.Slow

import io.bucketstate.error.InvalidException
import io.bucketstate.testkit.{Queries, Seeds, TempFolder, TidySuite}

/** Spark's offline repartition, which cannot know this provider, leaves nothing in a checkpoint. */
@Slow
class RepartitionSuite extends TidySuite with Queries {

  for (format <- Seq("2", "1").take(Seeds.of(1, 2)))
    test(s"it is refused, and the query goes on as if it had not been asked for (format $format)") {
      withCounts(format) { counts =>
        counts.add(1, 2, 2)
        counts.add(2, 3)
        val before = counts.files
        for (partitions <- Seq(4, 4, 5)) counts.refuse(partitions, "offsets/2")
        assert(counts.files == before)
        counts.add(3, 4)
        assert(counts.table == Map(1 -> 1L, 2 -> 3L, 3 -> 2L, 4 -> 1L))
      }
    }

  Seeds.atNight {
    test("batches that it skipped, because they had failed, run again") {
      withCounts("1") { counts =>
        counts.add(1, 2, 2)
        counts.add(2, 3)
        counts.forget(1) // as if its commit had failed
        val before = counts.files
        counts.refuse(4, "offsets/2, commits/1", exactlyOnce = false)
        assert(counts.files == before)
        counts.add(3, 4)
        assert(counts.table == Map(1 -> 1L, 2 -> 3L, 3 -> 2L, 4 -> 1L))
      }
    }

    test("what a session without the extension had left is taken away, too") {
      withCounts("1") { counts =>
        counts.add(1, 2, 2)
        counts.add(2, 3)
        counts.forget(1)
        val before = counts.files
        counts.plan(2, of = 0, partitions = 7)
        counts.commit(1)
        assert(counts.read == Map(1 -> 1L, 2 -> 2L), "what was skipped has not finished")
        counts.refuse(7, "offsets/2, commits/1")
        assert(counts.files == before)
      }
    }
  }

  test("another provider's repartition and other reads of state are Spark's own") {
    withCounts("1", "spark.sql.streaming.stateStore.providerClass" -> Spark) { counts =>
      counts.add(1, 2, 2)
      counts.repartition(4)
      counts.add(2, 3)
      assert(counts.table == Map(1 -> 1L, 2 -> 3L, 3 -> 1L))
    }
    withCounts("1") { counts =>
      counts.add(1, 2, 2)
      assert(counts.state.count() == 2L)
    }
  }

  private def withCounts(format: String, settings: (String, String)*)(body: Counts => Unit): Unit =
    withSession(
      settings :+ "spark.sql.streaming.stateStore.checkpointFormatVersion" -> format: _*
    ) { (spark, _) =>
      // Spark's repartition finds no checkpoint with a space in its path.
      TempFolder.use(folder => body(new Counts(spark, folder)))
    }

  private val Spark = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"

  /** A query that counts numbers, and is stopped after each of its batches. */
  private final class Counts(spark: SparkSession, folder: Path) {
    import spark.implicits._
    private val input = memoryStream[Int](spark)
    private val checkpoint = folder.resolve("counts")

    def add(numbers: Int*): Unit = {
      val query = start(input.toDF().groupBy("value").count(), "counts", folder)
      try addAndWait(input, query, numbers)
      finally query.stop()
    }

    def table: Map[Int, Long] = spark.table("counts").as[(Int, Long)].collect().toMap

    def state: DataFrame = spark.read.format("statestore").load(checkpoint.toString)

    /** The counts of the newest batch that has finished, as SQL finds them. */
    def read: Map[Int, Long] = spark.read
      .format("bucketstate")
      .load(checkpoint.toString)
      .selectExpr("key.value", "value.count")
      .as[(Int, Long)]
      .collect()
      .toMap

    def repartition(partitions: Int, exactlyOnce: Boolean = true): Unit = {
      new OfflineStateRepartitionRunner(spark, checkpoint.toString, partitions, exactlyOnce).run()
      ()
    }

    def refuse(partitions: Int, removed: String, exactlyOnce: Boolean = true): Unit = {
      val error = intercept[InvalidException](repartition(partitions, exactlyOnce))
      assert(error.getMessage.contains(s"was removed ($removed), and all else is as it was"))
    }

    /** The names of all files with their content. */
    def files: Map[String, Seq[Byte]] = Using.resource(Files.walk(checkpoint)) {
      _.iterator.asScala
        .filter(Files.isRegularFile(_))
        .map(file => checkpoint.relativize(file).toString -> Files.readAllBytes(file).toSeq)
        .toMap
    }

    /** Takes a batch's commit away. */
    def forget(batch: Int): Unit =
      for (name <- Seq(s"$batch", s".$batch.crc"))
        Files.delete(checkpoint.resolve(s"commits/$name"))

    /** Commits a batch as one that is skipped. */
    def commit(batch: Int): Unit = {
      Files.writeString(checkpoint.resolve(s"commits/$batch"), "v1\n{\"nextBatchWatermarkMs\":0}")
      ()
    }

    /** Plans a batch as a repartition does, with the offsets of another one. */
    def plan(batch: Int, of: Int, partitions: Int): Unit = {
      val before = Files.readString(checkpoint.resolve(s"offsets/$of"))
      val key = "\"spark.sql.shuffle.partitions\":"
      assert(before.contains(key))
      Files.writeString(
        checkpoint.resolve(s"offsets/$batch"),
        before.replaceFirst(key + "\"[0-9]+\"", key + "\"" + partitions + "\"")
      )
      ()
    }
  }
}
