package io.bucketstate

import java.net.URI

import scala.io.{Codec, Source}
import scala.util.Using

import org.scalatest.concurrent.Eventually
import org.scalatest.time.{Millis, Seconds, Span}

import io.bucketstate.testkit.{DigitCounts, LeftOvers, Seeds, TidySuite}

/** Queries whose stores Spark unloads with each commit, which Spark 4.0 has no setting for. */
class UnloadedStoresSuite extends TidySuite with DigitCounts with Eventually {

  // A snapshot that is being made holds what it needs until it is done.
  implicit override val patienceConfig: PatienceConfig =
    PatienceConfig(timeout = Span(60, Seconds), interval = Span(50, Millis))

  test("a provider that is unloaded after every commit loads what it needs") {
    withSession("spark.sql.streaming.stateStore.unloadOnCommit" -> "true") { (spark, folder) =>
      import spark.implicits._
      val input = memoryStream[Int](spark)
      val query = start(counts(input.toDS()), "unloaded", folder)
      for (batch <- 0 until 6) {
        addAndWait(input, query, batch * 10 until batch * 10 + 10)
        assert(found(spark, "unloaded") == expected(batch * 10 + 10))
        assert(metric(query, "bucketedTableReloads") == 2, "both partitions, every time")
      }
      query.stop()
      eventually {
        assert(LeftOvers.openFiles(folder) == Nil)
        assert(LeftOvers.workFolders == Nil)
      }
    }
  }

  test("how stores stand that are unloaded after every commit is scraped all the same") {
    withSession(
      "spark.sql.streaming.stateStore.unloadOnCommit" -> "true",
      "spark.plugins" -> classOf[BucketstatePlugin].getName,
      "spark.bucketstate.metrics.interval" -> "100",
      "spark.bucketstate.jvmWarmUp" -> "0",
      "spark.ui.enabled" -> "true",
      "spark.ui.port" -> "0"
    ) { (spark, folder) =>
      import spark.implicits._
      val input = memoryStream[Int](spark)
      val query = start(counts(input.toDS()), "scraped", folder)
      for (batch <- 0 until 3) addAndWait(input, query, batch * 10 until batch * 10 + 10)
      val page = URI.create(spark.sparkContext.uiWebUrl.get + "/bucketstate/metrics").toURL
      def figure(name: String): Option[String] = Using.resource(Source.fromURL(page)(Codec.UTF8)) {
        _.getLines().find(_.startsWith(s"bucketstate_$name{")).map(_.split(' ').last)
      }
      eventually {
        assert(figure("keys").contains("5") && figure("version").contains("3"))
        assert(Seq("stores", "executor_stores", "memory_bytes").forall(figure(_).contains("0")))
      }
      query.stop()
    }
  }

  test("what a store has for each batch is not remembered when it was unloaded") {
    val batches = Seeds.of(15, 50)
    withSession("spark.sql.streaming.stateStore.unloadOnCommit" -> "true") { (spark, folder) =>
      import spark.implicits._
      val input = memoryStream[Int](spark)
      val query = start(counts(input.toDS()), "often", folder)
      addAndWait(input, query, 0 until 10)
      val before = (LeftOvers.ofProcess, LeftOvers.rememberedPaths)
      for (batch <- 1 to batches) addAndWait(input, query, batch * 10 until batch * 10 + 10)
      assert(hasSnapshots(folder), "no working folder was needed")
      eventually(assert((LeftOvers.ofProcess, LeftOvers.rememberedPaths) == before))
      assert(found(spark, "often") == expected((batches + 1) * 10))
      query.stop()
      eventually(assert(LeftOvers.workFolders == Nil))
    }
  }
}
