package io.bucketstate

import java.nio.file.Files

import org.apache.spark.sql.functions.col
import org.scalatest.concurrent.Eventually
import org.scalatest.time.{Millis, Seconds, Span}

import io.bucketstate.testkit.{LiveFolder, Queries, TidySuite}

/** What Spark's maintenance threads do with the provider, and what they run into. */
class MaintenanceSuite extends TidySuite with Queries with Eventually {

  implicit override val patienceConfig: PatienceConfig =
    PatienceConfig(timeout = Span(60, Seconds), interval = Span(100, Millis))

  for (split <- Seq("0.25", "0.75"))
    test(s"a running query's old files are deleted, with snapshotToCleanupThreadRatio $split") {
      val settings = Seq(
        // Of Spark 4.3, whose threads are either for snapshots or for cleaning up.
        "spark.sql.streaming.stateStore.snapshotToCleanupThreadRatio" -> split,
        "spark.sql.streaming.minBatchesToRetain" -> "2",
        "spark.sql.streaming.ratioExtraSpaceAllowedInCheckpoint" -> "0.0"
      )
      withSession(settings: _*) { (spark, folder) =>
        import spark.implicits._
        val input = memoryStream[Int](spark)
        val counts = input.toDS().groupBy((col("value") % 5).as("digit")).count()
        val query = start(counts, "counted", folder)
        for (batch <- 0 until 12) addAndWait(input, query, batch * 10 until batch * 10 + 10)
        val store = folder.resolve("counted").resolve("state").resolve("0").resolve("0")
        assert(Files.exists(store))
        eventually {
          val names = LiveFolder.names(store)
          assert(!names.contains("1.changelog"), names)
          assert(names.exists(_.endsWith(".manifest")), names)
        }
        query.stop()
      }
    }
}
