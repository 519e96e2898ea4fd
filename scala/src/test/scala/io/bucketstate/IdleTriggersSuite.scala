package io.bucketstate

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.streaming.{StreamingQuery, StreamingQueryProgress}
import org.scalatest.concurrent.Eventually
import org.scalatest.time.{Millis, Seconds, Span}

import io.bucketstate.config.{MetricKey, MetricType}
import io.bucketstate.testkit.{Queries, TidySuite}

/** What a query tells of its state while nothing comes in. */
class IdleTriggersSuite extends TidySuite with Queries with Eventually {

  implicit override val patienceConfig: PatienceConfig =
    PatienceConfig(timeout = Span(60, Seconds), interval = Span(50, Millis))

  private val gauges = MetricKey.all.filter(_.metricType == MetricType.Gauge).map(_.name)

  private def gaugesOf(progress: StreamingQueryProgress): Map[String, Long] = {
    val metrics = progress.stateOperators.head.customMetrics.asScala
    gauges.map(name => name -> metrics(name).longValue).toMap
  }

  private def lastOf(query: StreamingQuery)(
      which: StreamingQueryProgress => Boolean
  ): StreamingQueryProgress =
    query.recentProgress.reverseIterator.find(which).getOrElse(fail("none was told yet"))

  test("gauges keep their values in triggers without a batch") {
    withSession(
      "spark.sql.streaming.noDataProgressEventInterval" -> "100ms",
      "spark.sql.streaming.noDataMicroBatches.enabled" -> "false"
    ) { (spark, folder) =>
      import spark.implicits._
      val input = memoryStream[Int](spark)
      val query = start(input.toDF().groupBy("value").count(), "counts", folder)
      // Until a snapshot was made, so that there is something to tell of runs.
      eventually {
        addAndWait(input, query, 1 to 100)
        val told = gaugesOf(lastOf(query)(_.numInputRows > 0))
        assert(told("bucketedRuns") > 0 && told("bucketedColdBytes") > 0)
      }
      val idle = eventually {
        val last = query.lastProgress
        assert(last.numInputRows == 0)
        last
      }
      assert(gaugesOf(idle) == gaugesOf(lastOf(query)(_.numInputRows > 0)))
      query.stop()
    }
  }
}
