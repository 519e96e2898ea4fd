package io.bucketstate.plugin

import java.util.concurrent.atomic.AtomicInteger
import java.util.{Collections, Map => JMap}

import com.codahale.metrics.MetricRegistry
import org.apache.spark.SparkConf
import org.apache.spark.api.plugin.PluginContext
import org.apache.spark.resource.ResourceInformation
import org.scalatest.concurrent.Eventually
import org.scalatest.time.{Millis, Seconds, Span}

import io.bucketstate.config.PluginKey
import io.bucketstate.plugin.status.{KnownQueries, StatusJson}
import io.bucketstate.testkit.{TidySuite, Warnings}

/** The executor's part of the plugin, without Spark. */
class ExecutorSideSuite extends TidySuite with Eventually {
  import ExecutorSideSuite._

  implicit override val patienceConfig: PatienceConfig =
    PatienceConfig(Span(20, Seconds), Span(10, Millis))

  for (
    failure <- Seq(
      new IllegalStateException("no answer"),
      new OutOfMemoryError("for a moment"),
      new NoClassDefFoundError("for a moment")
    )
  )
    test(s"the driver is told again after a ${failure.getClass.getSimpleName}, with one warning") {
      val context = new Failing(failure, times = 2)
      val side = new ExecutorSide("another provider", () => fail("nothing is to be warmed up"))
      val warnings = Warnings.during("io.bucketstate") {
        side.init(context, Collections.emptyMap())
        try eventually(assert(context.asked.get >= 4))
        finally side.shutdown()
      }
      assert(warnings.size == 1)
      assert(warnings.head.startsWith("The driver was not told"))
    }
}

private object ExecutorSideSuite {
  private val Nothing = KnownQueries(Map.empty, Set.empty, hasPartitions = false)

  /** A driver that cannot be asked at first. */
  private final class Failing(failure: Throwable, times: Int) extends PluginContext {
    val asked: AtomicInteger = new AtomicInteger

    override def ask(message: Object): Object =
      if (asked.incrementAndGet() <= times) throw failure else StatusJson.write(Nothing)

    override def send(message: Object): Unit = ()
    override def metricRegistry: MetricRegistry = new MetricRegistry
    override def conf: SparkConf = new SparkConf(false).set(PluginKey.Interval.key, "100")
    override def executorID: String = "1"
    override def hostname: String = "here"
    override def resources: JMap[String, ResourceInformation] = Collections.emptyMap()
  }
}
