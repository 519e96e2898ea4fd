package io.bucketstate

import java.sql.Timestamp
import java.time.Instant
import java.util.concurrent.ConcurrentLinkedQueue

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.functions._
import org.apache.spark.sql.streaming.{GroupStateTimeout, StreamingQueryException}

import io.bucketstate.config.ConfigKey.{TimeBucketColumn, TimeBucketExpireAfter}
import io.bucketstate.testkit.{Queries, TidySuite}

/** State that ages out, in Spark's own queries: those that keep all state for ever without it. */
class ExpiryQueriesSuite extends TidySuite with Queries {
  import ExpiryQueriesSuite._

  test("an unbounded dropDuplicates forgets, and says an old one again; a restart changes nothing") {
    withSession(
      TimeBucketExpireAfter.key -> "100s",
      TimeBucketColumn.key -> "at",
      "spark.sql.shuffle.partitions" -> "1"
    ) { (spark, folder) =>
      import spark.implicits._
      val input = memoryStream[Event](spark)
      val said = new ConcurrentLinkedQueue[String]
      val keep =
        (batch: DataFrame, _: Long) => batch.select("key").as[String].collect().foreach(said.add(_))
      def running() = input
        .toDF()
        .dropDuplicates("key", "at")
        .writeStream
        .option("checkpointLocation", folder.resolve("seen").toString)
        .foreachBatch(keep)
        .start()
      val first = running()
      addAndWait(input, first, Seq(Event("a", 1000), Event("a", 1000), Event("b", 1090)))
      assert(said.size == 2)
      addAndWait(input, first, Seq(Event("a", 1000), Event("c", 1200)))
      assert(said.size == 3 && rows(first) == 3)
      addAndWait(input, first, Seq(Event("d", 1205)))
      assert(rows(first) == 2)
      first.stop()
      val second = running()
      addAndWait(input, second, Seq(Event("c", 1200), Event("e", 1206)))
      assert(rows(second) == 3)
      // It is late, so nothing remembers it: it is said each time.
      addAndWait(input, second, Seq(Event("a", 1000), Event("a", 1000)))
      assert(said.asScala.count(_ == "a") == 3)
      assert(metric(second, "bucketedLateWrites") == 2)
      second.stop()
    }
  }

  test("mapGroupsWithState without a timeout, by a time in its state, for one query by its name") {
    inPlainFolder(
      s"${TimeBucketExpireAfter.key}.query.sums" -> "100s",
      s"${TimeBucketColumn.key}.query.sums" -> "groupState.last",
      "spark.sql.shuffle.partitions" -> "1"
    ) { (spark, folder) =>
      import spark.implicits._
      val input = memoryStream[Event](spark)
      val sums = input
        .toDS()
        .groupByKey(_.key)
        .mapGroupsWithState[Sum, Said](GroupStateTimeout.NoTimeout) { (key, events, state) =>
          val all = events.toSeq
          val n = state.getOption.fold(0L)(_.n) + all.size
          state.update(Sum(n, all.map(_.at).maxBy(_.getTime)))
          Said(key, n)
        }
        .toDF()
      val queries = Seq("sums", "others").map(start(sums, _, folder, "update"))
      def add(events: Event*) = {
        input.addData(events)
        queries.foreach(_.processAllAvailable())
      }
      add(Event("a", 1000), Event("b", 1000))
      add(Event("a", 1200))
      add(Event("a", 1201), Event("b", 1202))
      def last(query: String, key: String) =
        spark.table(query).where($"key" === key).agg(max($"n")).as[Long].head()
      assert(last("sums", "a") == 3 && last("others", "a") == 3)
      assert(last("others", "b") == 2, "this query has no such setting")
      assert(last("sums", "b") == 1, "it began anew")
      queries.foreach(_.stop())
      // Whose settings they would be is no matter of who only reads.
      val stored = spark.read.format("statestore").load(folder.resolve("sums").toString)
      assert(stored.select("key.value").as[String].collect().toSet == Set("a", "b"))
    }
  }

  test("a query whose operator cannot do with it fails at its start and says why") {
    withSession(TimeBucketExpireAfter.key -> "100s", "spark.task.maxFailures" -> "1") {
      (spark, folder) =>
        import spark.implicits._
        val input = memoryStream[Event](spark)
        val windows = input
          .toDF()
          .withWatermark("at", "10 seconds")
          .groupBy(window($"at", "10 seconds"))
          .count()
        val query = start(windows, "windows", folder, "append")
        val failure =
          intercept[StreamingQueryException](addAndWait(input, query, Seq(Event("a", 1))))
        assert(failure.getMessage.contains("by the watermark of 'window'"))
    }
  }

  test(
    "windows behind a watermark are given out as ever, and leave without a trace in the changelog"
  ) {
    withSession(TimeBucketColumn.key -> "window.end", "spark.sql.shuffle.partitions" -> "1") {
      (spark, folder) =>
        import spark.implicits._
        val input = memoryStream[Event](spark)
        val windows = input
          .toDF()
          .withWatermark("at", "60 seconds")
          .groupBy(window($"at", "60 seconds"), $"key")
          .count()
          .select($"window.end".cast("long").as("end"), $"key", $"count")
        val query = start(windows, "windows", folder, "append")
        (0 until 10).foreach { n =>
          addAndWait(input, query, Seq("a", "b", "c").map(Event(_, n * 60L)) :+ Event("a", n * 60L))
        }
        val expected = (1 to 8).flatMap(n =>
          Seq("a" -> 2L, "b" -> 1L, "c" -> 1L).map { case (k, c) =>
            (n * 60L, k, c)
          }
        )
        assert(spark.table("windows").as[(Long, String, Long)].collect().toSet == expected.toSet)
        // A batch after the last that brought rows, which only removes a window.
        assert(metric(query, "bucketedChangedKeys") == 0 && rows(query) == 6)
        query.stop()
    }
  }

  private def rows(query: org.apache.spark.sql.streaming.StreamingQuery): Long =
    query.lastProgress.stateOperators.head.numRowsTotal

  private def metric(
      query: org.apache.spark.sql.streaming.StreamingQuery,
      name: String
  ): Long = query.lastProgress.stateOperators.head.customMetrics.get(name)
}

object ExpiryQueriesSuite {
  final case class Event(key: String, at: Timestamp)
  object Event {
    def apply(key: String, second: Long): Event =
      Event(key, Timestamp.from(Instant.ofEpochSecond(second)))
  }
  final case class Sum(n: Long, last: Timestamp)
  final case class Said(key: String, n: Long)
}
