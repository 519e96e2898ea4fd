package io.bucketstate

import java.nio.file.Path
import java.sql.Timestamp
import java.time.Instant
import java.util.concurrent.ConcurrentLinkedQueue

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.execution.streaming.runtime.MemoryStream
import org.apache.spark.sql.streaming._
import org.apache.spark.sql.{Dataset, KeyValueGroupedDataset, SparkSession}
import org.scalatest.concurrent.Eventually
import org.scalatest.time.{Millis, Seconds, Span}

import io.bucketstate.testkit.{Queries, TidySuite}

/** `mapGroupsWithState` and `flatMapGroupsWithState`, which PySpark has not, with a restart in the middle. */
class GroupStateSuite extends TidySuite with Queries with Eventually {
  import GroupStateSuite._

  implicit override val patienceConfig: PatienceConfig =
    PatienceConfig(timeout = Span(60, Seconds), interval = Span(50, Millis))

  /** Runs a query over some batches, then a new one from its checkpoint over others; everything it said. */
  private def restarted(input: MemoryStream[Event], said: Dataset[Said], folder: Path)(
      before: Seq[Seq[Event]]
  )(after: Seq[Seq[Event]], last: (StreamingQuery, () => Seq[Said]) => Unit = (_, _) => ()) = {
    val heard = new ConcurrentLinkedQueue[Said]
    val keep = (batch: Dataset[Said], _: Long) => batch.collect().foreach(heard.add(_))
    def running(body: StreamingQuery => Unit): Unit = {
      val query = said.writeStream
        .outputMode("update")
        .option("checkpointLocation", folder.resolve("checkpoint").toString)
        .foreachBatch(keep)
        .start()
      try body(query)
      finally query.stop()
    }
    running(query => before.foreach(addAndWait(input, query, _)))
    running { query =>
      after.foreach(addAndWait(input, query, _))
      last(query, () => heard.asScala.toSeq)
    }
    heard.asScala.toSeq
  }

  private def byKey(spark: SparkSession, input: MemoryStream[Event]) = {
    import spark.implicits._
    input.toDS().withWatermark("at", "10 seconds").groupByKey(_.key)
  }

  private def initially(
      spark: SparkSession,
      sums: (String, Long)*
  ): KeyValueGroupedDataset[String, Long] = {
    import spark.implicits._
    sums.toDS().groupByKey(_._1).mapValues(_._2)
  }

  test("mapGroupsWithState goes on from its initial state and from the checkpoint") {
    withSession() { (spark, folder) =>
      import spark.implicits._
      val input = memoryStream[Event](spark)
      val sums = byKey(spark, input).mapGroupsWithState(
        GroupStateTimeout.NoTimeout,
        initially(spark, "a" -> 100L, "unseen" -> 7L)
      )(summed)
      val said = restarted(input, sums, folder)(
        Seq(Seq(event("a", 1, 0)), Seq(event("a", 2, 1), event("b", 5, 1)))
      )(Seq(Seq(event("a", 10, 2)), Seq(event("b", 1, 3), event("unseen", 1, 3))))
      assert(said.filter(_.key == "a").map(_.sum) == Seq(101, 103, 113))
      assert(said.filter(_.key == "b").map(_.sum) == Seq(5, 6))
      assert(said.filter(_.key == "unseen").map(_.sum) == Seq(7, 8))
    }
  }

  test("flatMapGroupsWithState forgets by event time what was set before the restart") {
    withSession() { (spark, folder) =>
      import spark.implicits._
      val input = memoryStream[Event](spark)
      val sums = byKey(spark, input).flatMapGroupsWithState(
        OutputMode.Update,
        GroupStateTimeout.EventTimeTimeout,
        initially(spark, "a" -> 100L)
      )((key: String, events: Iterator[Event], state: GroupState[Long]) =>
        endingAfter(key, events, state) { s =>
          val soonest = s.getCurrentWatermarkMs() + 30000
          s.setTimeoutTimestamp(soonest.max(Start.plusSeconds(60).toEpochMilli))
        }
      )
      val said = restarted(input, sums, folder)(
        Seq(Seq(event("a", 1, 0), event("b", 1, 5)), Seq(event("a", 2, 20)))
      )(Seq(Seq(event("b", 4, 40)), Seq(event("c", 1, 100)), Seq(event("a", 1, 101))))
      val ended = Set(Said("a", 103, true), Said("b", 5, true), Said("c", 1, true))
      assert(said.filter(_.ended).toSet == ended)
      assert(said.filterNot(_.ended).last == Said("a", 1, ended = false), "begins anew")
    }
  }

  test("flatMapGroupsWithState forgets by processing time what was set before the restart") {
    // Else there is always one more batch, to see what has timed out.
    withSession("spark.sql.streaming.noDataMicroBatches.enabled" -> "false") { (spark, folder) =>
      import spark.implicits._
      val input = memoryStream[Event](spark)
      val sums = byKey(spark, input).flatMapGroupsWithState(
        OutputMode.Update,
        GroupStateTimeout.ProcessingTimeTimeout,
        initially(spark, "a" -> 100L)
      )((key: String, events: Iterator[Event], state: GroupState[Long]) =>
        endingAfter(key, events, state)(s => if (key != "other") s.setTimeoutDuration("1 second"))
      )
      restarted(input, sums, folder)(Seq(Seq(event("a", 1, 0)), Seq(event("b", 1, 1))))(
        Seq(Seq(event("other", 1, 2))),
        (query, heard) =>
          eventually {
            addAndWait(input, query, Seq(event("other", 1, 3)))
            assert(heard().filter(_.ended).map(_.key).toSet == Set("a", "b"))
            assert(heard().filter(_.key == "a").last == Said("a", 101, ended = true))
          }
      )
    }
  }
}

object GroupStateSuite {

  final case class Event(key: String, value: Long, at: Timestamp)
  final case class Said(key: String, sum: Long, ended: Boolean)

  private val Start = Instant.parse("2024-03-01T00:00:00Z")

  private def event(key: String, value: Long, second: Long): Event =
    Event(key, value, Timestamp.from(Start.plusSeconds(second)))

  private def summed(key: String, events: Iterator[Event], state: GroupState[Long]): Said = {
    state.update(state.getOption.getOrElse(0L) + events.map(_.value).sum)
    Said(key, state.get, ended = false)
  }

  /** Sums up until the timeout, then says the sum and forgets it. */
  private def endingAfter(key: String, events: Iterator[Event], state: GroupState[Long])(
      setTimeout: GroupState[Long] => Unit
  ): Iterator[Said] =
    if (state.hasTimedOut) {
      val ended = Said(key, state.get, ended = true)
      state.remove()
      Iterator(ended)
    } else {
      val said = summed(key, events, state)
      setTimeout(state)
      Iterator(said)
    }
}
