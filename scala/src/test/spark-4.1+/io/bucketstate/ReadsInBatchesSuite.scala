package io.bucketstate

import java.nio.file.Path
import java.util.UUID
import java.util.concurrent.{Callable, ConcurrentLinkedQueue, Executors}

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.execution.streaming.state.HeardSnapshots
import org.apache.spark.sql.streaming._
import org.apache.spark.sql.{DataFrame, Encoders, Row, SparkSession}
import org.scalatest.concurrent.Eventually
import org.scalatest.time.{Millis, Seconds, Span}

import io.bucketstate.config.ConfigKey.{
  ExactKeyCount,
  SnapshotMaxVersions,
  SnapshotMode,
  TimeBucketExpireAfter
}
import io.bucketstate.move.CountsToMove
import io.bucketstate.testkit.{LeftOvers, Queries, TidySuite}

/**
 * What runs in a query's batches beside the query's own operators, and what of the batches does not look like theirs. Spark
 * 4.0 has no coordinator that hears of snapshots.
 */
class ReadsInBatchesSuite extends TidySuite with Queries with Eventually {
  import ReadsInBatchesSuite._

  implicit override val patienceConfig: PatienceConfig =
    PatienceConfig(timeout = Span(60, Seconds), interval = Span(50, Millis))

  private def run(rows: DataFrame, folder: Path, name: String)(
      take: (DataFrame, Long) => Unit
  )(batches: StreamingQuery => Unit): UUID = {
    val query = rows.writeStream
      .queryName(name)
      .outputMode("update")
      .option("checkpointLocation", folder.resolve(name).toString)
      .foreachBatch(take)
      .start()
    try batches(query)
    finally query.stop()
    query.runId
  }

  /** Six batches of two runs, with a snapshot of the second batch in each partition. The runs. */
  private def write(spark: SparkSession, folder: Path): Seq[UUID] = {
    import spark.implicits._
    val before = LeftOvers.ofProcess
    val input = memoryStream[String](spark)
    val counts = input
      .toDS()
      .groupByKey(key => key)
      .transformWithState(new Counting, TimeMode.None(), OutputMode.Update())
      .toDF()
    def runOf(keys: Seq[String]*) = run(counts, folder, "counts")((batch, _) => collect(batch)) {
      query => keys.foreach(addAndWait(input, query, _))
    }
    spark.conf.set(SnapshotMode.key, "sync")
    val first = runOf(Seq("a", "b"), Seq("a"), Seq("a", "c"))
    spark.conf.unset(SnapshotMode.key)
    spark.conf.set(SnapshotMaxVersions.key, "100")
    val second = runOf(Seq("a"), Seq("b"), Seq("c"))
    // Until its stores are unloaded, maintenance may still find something to do.
    eventually(assert(LeftOvers.ofProcess == before))
    Seq(first, second)
  }

  private def stored(spark: SparkSession, folder: Path): DataFrame = spark.read
    .format("statestore")
    .option("stateVarName", "count")
    .load(folder.resolve("counts").toString)
    .selectExpr("key.value as key", "value.value as count")

  for {
    (where, isJoined, settings) <- Seq(
      ("foreachBatch", false, Nil),
      ("foreachBatch, in a session with settings of the query", false, OfReader),
      ("a static side of a join, in a session with settings of the query", true, OfReader)
    )
  } test(s"Spark's state reader is no batch of the query in whose batch it runs: $where") {
    inPlainFolder(settings: _*) { (spark, folder) =>
      import spark.implicits._
      val heard = HeardSnapshots.watch()
      val writers = write(spark, folder)
      val files = CountsToMove.tree(folder.resolve("counts"))
      // So a batch at the newest version would make one.
      spark.conf.set(SnapshotMaxVersions.key, "1")

      val input = memoryStream[String](spark)
      val once = input.toDF().toDF("key").dropDuplicates("key")
      val rows = if (isJoined) once.join(stored(spark, folder), "key") else once
      val found = new ConcurrentLinkedQueue[Row]
      val reader = run(rows, folder, "reader") { (batch, _) =>
        val own = batch.collect()
        val read = if (isJoined) own else stored(spark, folder).collect()
        read.foreach(found.add(_))
      } { query =>
        addAndWait(input, query, Seq("a", "b", "c"))
        addAndWait(input, query, Seq("a", "b", "c"))
      }

      assert(found.asScala.toSet == Set(Row("a", 4L), Row("b", 2L), Row("c", 2L)))
      assert(CountsToMove.tree(folder.resolve("counts")) == files)
      assert(heard().contains(writers.head))
      assert(heard().subsetOf(writers.toSet + reader))
    }
  }

  test("batches to whose jobs user code gives another group make snapshots, and tell of them") {
    withSession() { (spark, folder) =>
      import spark.implicits._
      val heard = HeardSnapshots.watch()
      val input = memoryStream[Int](spark)
      run(input.toDF().groupBy("value").count(), folder, "grouped") { (batch, _) =>
        spark.sparkContext.setJobGroup("of the user", "what the user says")
        collect(batch)
      } { query =>
        (0 until 6).foreach(n => addAndWait(input, query, Seq(n)))
        eventually(assert(heard() == Set(query.runId)))
      }
    }
  }

  test("a thread that was there before a batch brings it no settings of another query") {
    withSession(s"${ExactKeyCount.key}.query.first" -> "false") { (spark, folder) =>
      import spark.implicits._
      val thread = Executors.newSingleThreadExecutor()
      def count(name: String) = {
        val input = memoryStream[Int](spark)
        run(input.toDF().groupBy("value").count(), folder, name) { (batch, _) =>
          // Made in a batch of the first, it says to be of that for ever.
          thread.submit(new Callable[Unit] { override def call(): Unit = collect(batch) }).get()
        }(addAndWait(input, _, Seq(1)))
      }
      try {
        count("first")
        val failure = intercept[StreamingQueryException](count("second"))
        val told = Iterator.iterate[Throwable](failure)(_.getCause).takeWhile(_ != null).toSeq
        val words = told.map(_.toString).mkString("\n")
        assert(words.contains("the name of the query of store"), words)
      } finally thread.shutdown()
    }
  }
}

object ReadsInBatchesSuite {
  private val OfReader = Seq(s"${TimeBucketExpireAfter.key}.query.reader" -> "1h")

  private def collect(batch: DataFrame): Unit = {
    batch.collect()
    ()
  }

  /** How often a key came. */
  private final class Counting extends StatefulProcessor[String, String, (String, Long)] {
    @transient private var count: ValueState[Long] = _

    override def init(outputMode: OutputMode, timeMode: TimeMode): Unit =
      count = getHandle.getValueState("count", Encoders.scalaLong, TTLConfig.NONE)

    override def handleInputRows(
        key: String,
        rows: Iterator[String],
        timers: TimerValues
    ): Iterator[(String, Long)] = {
      val all = (if (count.exists()) count.get() else 0L) + rows.size
      count.update(all)
      Iterator.single((key, all))
    }
  }
}
