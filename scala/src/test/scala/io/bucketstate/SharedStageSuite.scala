package io.bucketstate

import java.nio.file.Path
import java.sql.Timestamp
import java.time.Instant
import java.util.concurrent.ConcurrentLinkedQueue

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.execution.exchange.ShuffleExchangeLike
import org.apache.spark.sql.execution.streaming.runtime.{StreamExecution, StreamingQueryWrapper}
import org.apache.spark.sql.functions._
import org.apache.spark.sql.streaming._
import org.apache.spark.sql.{DataFrame, Row, SparkSession}

import io.bucketstate.testkit.{Queries, Seeds, TidySuite}

/**
 * Two stateful operators on the same keys, with no shuffle between them: one task has stores of both, and Spark offers
 * the second what the first has read.
 */
class SharedStageSuite extends TidySuite with Queries {
  import SharedStageSuite._

  /** Runs the batches, with a restart half-way; all that came out, and how often the rows were shuffled. */
  private def run(
      spark: SparkSession,
      folder: Path,
      query: DataFrame => DataFrame
  ): (Seq[Row], Set[Int]) = {
    import spark.implicits._
    val input = memoryStream[Event](spark)
    val rows = query(input.toDF().withWatermark("at", "1 second"))
    val heard = new ConcurrentLinkedQueue[Row]
    val keep = (batch: DataFrame, _: Long) => batch.collect().foreach(heard.add(_))
    val shuffles = batches.grouped(batches.size / 2).toSeq.map { half =>
      val running = rows.writeStream
        .outputMode("append")
        .option("checkpointLocation", folder.toString)
        .foreachBatch(keep)
        .start()
      try {
        half.foreach(addAndWait(input, running, _))
        shufflesOf(running)
      } finally running.stop()
    }
    (heard.asScala.toSeq, shuffles.toSet)
  }

  private def shufflesOf(running: StreamingQuery): Int = {
    val execution = running.asInstanceOf[StreamingQueryWrapper].streamingQuery: StreamExecution
    execution.lastExecution.executedPlan.collect { case one: ShuffleExchangeLike => one }.size
  }

  private def counted(events: DataFrame): DataFrame =
    events.groupBy(window(col("at"), "10 seconds"), col("key")).count()

  /** Both checkpoint formats in a sweep, else one of them, by what is asked. */
  private def formats(seed: Int): Seq[String] =
    Seeds.oneOf(2, Seq(1, 2), seed.toLong).map(_.toString)

  private def followedBy(name: String, seed: Int)(query: DataFrame => DataFrame): Unit =
    test(s"a count by window, then $name on its keys, in checkpoint formats") {
      withSession() { (spark, folder) =>
        val found = formats(seed).map { format =>
          spark.conf.set(CheckpointFormat, format)
          val (rows, shuffles) = run(spark, folder.resolve(s"ours $format"), query)
          assert(shuffles == Set(1))
          rows.map(_.toString).sorted
        }
        spark.conf.set(Provider, HdfsBacked)
        spark.conf.set(CheckpointFormat, "1")
        val (wanted, _) = run(spark, folder.resolve("Spark's"), query)
        assert(found.toSet == Set(wanted.map(_.toString).sorted))
        assert(wanted.size > 10)
      }
    }

  followedBy("another count", 1)(
    counted(_).groupBy("window", "key").agg(sum("count").as("sum"), count("*").as("n"))
  )

  Seeds.atNight {
    followedBy("both kinds of dropDuplicates", 0)(
      counted(_)
        .dropDuplicates("window", "key")
        .dropDuplicatesWithinWatermark("window", "key")
    )
  }

  followedBy("flatMapGroupsWithState", 0) { events =>
    val spark = events.sparkSession
    import spark.implicits._
    counted(events)
      .groupBy("window", "key")
      .as[(Window, String), (Window, String, Long)]
      .flatMapGroupsWithState(OutputMode.Append(), GroupStateTimeout.NoTimeout())(summed)
      .toDF()
  }

  test("a count by window, then transformWithState on its keys, in checkpoint formats") {
    val found = formats(1).map { format =>
      var rows = Seq.empty[Row]
      withSession(CheckpointFormat -> format) { (spark, folder) =>
        import spark.implicits._
        val (said, shuffles) = run(
          spark,
          folder.resolve("ours"),
          counted(_)
            .groupBy("window", "key")
            .as[(Window, String), (Window, String, Long)]
            .transformWithState(new Summing, TimeMode.None(), OutputMode.Append())
            .toDF()
        )
        assert(shuffles == Set(1))
        rows = said
      }
      rows.map(row => row.getString(0) -> row.getLong(1)).sorted
    }
    val last = batches.flatten.map(_.at).max.toInstant.minusSeconds(1)
    val wanted = batches.flatten
      .groupBy(event => (event.key, event.at.toInstant.getEpochSecond / 10))
      .toSeq
      .collect {
        case ((key, start), of) if start * 10 + 10 <= last.getEpochSecond => key -> of.size.toLong
      }
    assert(found.toSet == Set(wanted.sorted))
  }
}

private object SharedStageSuite {
  val Provider = "spark.sql.streaming.stateStore.providerClass"
  val HdfsBacked: String =
    "org.apache.spark.sql.execution.streaming.state.HDFSBackedStateStoreProvider"
  val CheckpointFormat = "spark.sql.streaming.stateStore.checkpointFormatVersion"

  final case class Event(key: String, at: Timestamp)

  final case class Window(start: Timestamp, end: Timestamp)

  /** Each batch is a little later than the one before it. */
  val batches: Seq[Seq[Event]] = (0 until 6).map { batch =>
    (0 until 12).map { n =>
      val at = Instant.ofEpochSecond(1700000000L + batch * 7 + n % 7)
      Event(s"k${n % 4}", Timestamp.from(at))
    }
  }

  def summed(
      key: (Window, String),
      counts: Iterator[(Window, String, Long)],
      state: GroupState[Long]
  ): Iterator[(String, Long)] = {
    val sum = state.getOption.getOrElse(0L) + counts.map(_._3).sum
    state.update(sum)
    Iterator(key._2 -> sum)
  }

  /** The same with a state variable. */
  final class Summing
      extends StatefulProcessor[(Window, String), (Window, String, Long), (String, Long)] {
    @transient private var sum: ValueState[Long] = _

    override def init(outputMode: OutputMode, timeMode: TimeMode): Unit =
      sum = getHandle.getValueState("sum", org.apache.spark.sql.Encoders.scalaLong, TTLConfig.NONE)

    override def handleInputRows(
        key: (Window, String),
        counts: Iterator[(Window, String, Long)],
        timers: TimerValues
    ): Iterator[(String, Long)] = {
      val now = (if (sum.exists()) sum.get() else 0L) + counts.map(_._3).sum
      sum.update(now)
      Iterator(key._2 -> now)
    }
  }
}
