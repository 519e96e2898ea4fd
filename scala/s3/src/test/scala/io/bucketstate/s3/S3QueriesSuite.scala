package io.bucketstate.s3

import org.apache.spark.sql.SparkSession
import org.scalatest.BeforeAndAfterAll
import org.scalatest.concurrent.Eventually
import org.scalatest.funsuite.AnyFunSuite
import org.scalatest.time.{Millis, Seconds, Span}

import io.bucketstate.testkit.{ProviderHarness, Queries, Seeds}

/** A query on S3A: its answers, and how many requests they cost. */
class S3QueriesSuite extends AnyFunSuite with Queries with BeforeAndAfterAll with Eventually {
  private lazy val bucket = new Bucket

  implicit override val patienceConfig: PatienceConfig =
    PatienceConfig(timeout = Span(60, Seconds), interval = Span(200, Millis))

  override protected def afterAll(): Unit = bucket.close()

  private val Groups = 10L
  private val Partitions = 2
  private val Format = "spark.sql.streaming.stateStore.checkpointFormatVersion"

  /** At night: by day others hold files, attempts and PySpark's checkpoints to S3A. */
  private val formats = Seq("1", "2").take(Seeds.of(few = 0, many = 2))

  /** The metric of each kind of requests. */
  private val Told = Seq(
    "PUT" -> "bucketedObjectPuts",
    "GET" -> "bucketedObjectGets",
    "HEAD" -> "bucketedObjectHeads",
    "LIST" -> "bucketedObjectLists",
    "DELETE" -> "bucketedObjectDeletes"
  )

  private def withQuery(settings: (String, String)*)(
      body: (SparkSession, () => CountedQuery) => Unit
  ): Unit = {
    val all = CountedQuery.settings(bucket, ProviderHarness.ProviderClass) ++ settings
    withSession(all: _*) { (spark, _) =>
      val location = bucket.newLocation()
      body(spark, () => new CountedQuery(spark, bucket, location, Groups))
    }
  }

  // The others end with right answers, too: this one has more restarts.
  for (format <- formats)
    test(s"answers stay right over restarts, format $format") {
      withQuery(Format -> format) { (_, make) =>
        val query = make()
        var sent = 0L
        for (_ <- 1 to 2) {
          query.start()
          for (_ <- 1 to 2) {
            query.batch(sent until sent + 100)
            sent += 100
            assert(query.results == (0L until Groups).map(_ -> sent / Groups).toMap)
          }
          query.stop()
        }
      }
    }

  for (format <- formats)
    test(s"a commit costs at most three requests, format $format") {
      // Snapshots and retention are part of it, as often as by default.
      val settings = Seq(
        Format -> format,
        "spark.sql.streaming.stateStore.bucketed.snapshot.maxVersions" -> "10"
      )
      withQuery(settings: _*) { (_, make) =>
        val query = make()
        query.start()
        query.batch(0L until 100L)
        val before = query.drain()
        val batches = 10
        for (n <- 1 to batches) query.batch(n * 100L until (n + 1) * 100L)
        val asked = query.drain()
        val clue = s"${asked.byKind} of ${batches * Partitions} commits"
        assert(asked.total <= 3 * batches * Partitions, clue)
        assert(asked.byKind.keySet.subsetOf(Set("PUT", "GET", "LIST", "DELETE")), clue)
        val told = query.progress.map(_.stateOperators.head.customMetrics)
        for ((kind, metric) <- Told) {
          // What was asked since the last batch's report is told with the next one.
          val counted = told.map(_.get(metric).longValue).sum
          val clueOfKind = s"$metric: $counted, of ${before.byKind} and ${asked.byKind}"
          assert(counted <= Seq(before, asked).flatMap(_.byKind.get(kind)).sum, clueOfKind)
          if (kind == "PUT") assert(counted >= batches * Partitions, clueOfKind)
        }
        query.stop()
      }
    }

  for (batches <- Seq(60).take(Seeds.of(few = 0, many = 1)))
    test(s"a commit costs 0.7 GET at most, with one restart in $batches, without checkpoint ids") {
      // Snapshots and retention are part of it, as often as by default.
      val settings = Seq(
        Format -> "1",
        "spark.sql.streaming.stateStore.bucketed.snapshot.maxVersions" -> "10"
      )
      withQuery(settings: _*) { (_, make) =>
        val query = make()
        for (half <- (0 until batches).grouped(batches / 2)) {
          query.start()
          half.foreach(n => query.batch(n * 100L until (n + 1) * 100L))
          query.stop()
        }
        assert(query.results == (0L until Groups).map(_ -> batches * 100 / Groups).toMap)
        val asked = query.drain()
        val gets = asked.byKind.getOrElse("GET", 0)
        assert(gets <= 0.7 * batches * Partitions, s"${asked.byKind}")
      }
    }

  for (format <- formats)
    test(
      s"a restart costs a read of each file it touches and at most ten requests, format $format"
    ) {
      // Retention comes beside it, by a clock of its own, and the next snapshot is not due yet.
      val settings = Seq(
        Format -> format,
        "spark.sql.streaming.stateStore.bucketed.snapshot.maxVersions" -> "4",
        "spark.sql.streaming.stateStore.maintenanceInterval" -> "1h"
      )
      withQuery(settings: _*) { (_, make) =>
        val query = make()
        query.start()
        for (n <- 0 until 5) query.batch(n * 100L until (n + 1) * 100L)
        var manifests = 0
        eventually { // The snapshots of the fourth batch are written behind it.
          manifests += query.drain().requests.count { seen =>
            seen.kind == "PUT" && seen.what.endsWith(".manifest")
          }
          assert(manifests == Partitions)
        }
        query.stop()
        query.drain()
        query.start()
        query.batch(0L until 100L)
        val restart = query.drain()
        val touched = restart.requests.filter(_.kind == "GET").map(_.what).distinct
        assert(touched.nonEmpty)
        assert(restart.total - touched.size <= 10, s"${restart.requests}")
        query.stop()
      }
    }
}
