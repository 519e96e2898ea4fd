package io.bucketstate.plugin

import java.util.concurrent.atomic.AtomicInteger
import java.util.concurrent.{ConcurrentLinkedQueue, CountDownLatch}
import java.util.{Collections, Map => JMap}

import scala.jdk.CollectionConverters._

import com.codahale.metrics.MetricRegistry
import org.apache.spark.SparkConf
import org.apache.spark.api.plugin.PluginContext
import org.apache.spark.resource.ResourceInformation
import org.scalatest.concurrent.Eventually
import org.scalatest.time.{Millis, Seconds, Span}

import io.bucketstate.config.PluginKey
import io.bucketstate.plugin.status.{ExecutorStatus, KnownQueries, StatusJson}
import io.bucketstate.testkit.{LeftOvers, TidySuite, Warnings}
import io.bucketstate.watch.{CommitReport, StoreLabel, WatchedStore}

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

  for (
    failure <- Seq(None, Some(new IllegalStateException("gone")), Some(new LinkageError("gone")))
  )
    test(s"the driver is told of the last commits at the end, which ends in $failure") {
      val context = new Told("1") {
        override def ask(message: Object): Object = {
          told.add(StatusJson.readStatus(message.toString))
          failure.foreach(throw _)
          super.ask(message)
        }
      }
      assert(Warnings.during("io.bucketstate")(committed(context).shutdown()).isEmpty)
      assert(context.told.asScala.toSeq.flatMap(_.stores.map(_.version)) == Seq(5L))
    }

  test("the end does not wait for a driver that does not answer") {
    val asked = new CountDownLatch(1)
    val context = new Told("1") {
      override def ask(message: Object): Object = {
        asked.countDown()
        new CountDownLatch(1).await()
        fail("nobody counts it down")
      }
    }
    committed(context).shutdown()
    assert(asked.getCount == 0)
    eventually(assert(!LeftOvers.threads.exists(_.endsWith("-last"))))
  }

  /** One with a store that has committed, of which nobody was told. */
  private def committed(context: Told): ExecutorSide = {
    context.conf.set(PluginKey.Interval.key, "3600000")
    val side = new ExecutorSide("another provider", () => fail("nothing is to be warmed up"))
    side.init(context, Collections.emptyMap())
    val store = new WatchedStore(StoreLabel("run", 0L, 0, "default"), () => 0L)
    store.committing(())((_, nanos) => CommitReport(5L, nanos, 1L, 1L, Map.empty))
    side
  }

  for (
    (executor, set, isWarmed) <- Seq(
      ("1", None, true),
      ("1", Some("0"), false),
      ("driver", None, false),
      ("driver", Some("2000"), true)
    )
  )
    test(s"executor $executor with jvmWarmUp ${set.getOrElse("not set")} is warmed up: $isWarmed") {
      val context = new Told(executor)
      context.conf.set(TurnedOn.Provider, "ours")
      set.foreach(context.conf.set(PluginKey.JvmWarmUp.key, _))
      val enough = new CountDownLatch(1)
      val side = new ExecutorSide("ours", () => { enough.await(); fail("not made, but seen") })
      Warnings.during("io.bucketstate") {
        side.init(context, Collections.emptyMap())
        try assert(LeftOvers.threads.exists(_.endsWith("warm-up")) == isWarmed)
        finally {
          enough.countDown()
          side.shutdown()
        }
        eventually(assert(!LeftOvers.threads.exists(_.endsWith("warm-up"))))
      }
    }
}

private object ExecutorSideSuite {
  private val Nothing = KnownQueries(Map.empty, Set.empty, hasPartitions = false)

  /** An executor whose driver takes what it is told. */
  private class Told(executor: String) extends PluginContext {
    val told: ConcurrentLinkedQueue[ExecutorStatus] = new ConcurrentLinkedQueue

    override def ask(message: Object): Object = StatusJson.write(Nothing)
    override def send(message: Object): Unit = ()
    override def metricRegistry: MetricRegistry = new MetricRegistry
    override val conf: SparkConf = new SparkConf(false).set(PluginKey.Interval.key, "100")
    override def executorID: String = executor
    override def hostname: String = "here"
    override def resources: JMap[String, ResourceInformation] = Collections.emptyMap()
  }

  /** A driver that cannot be asked at first. */
  private final class Failing(failure: Throwable, times: Int) extends Told("1") {
    val asked: AtomicInteger = new AtomicInteger

    override def ask(message: Object): Object =
      if (asked.incrementAndGet() <= times) throw failure else super.ask(message)
  }
}
