package io.bucketstate.plugin

import java.util.concurrent.TimeUnit
import java.util.concurrent.atomic.AtomicBoolean
import java.util.{Map => JMap}

import scala.util.control.NonFatal

import org.apache.spark.api.plugin.{ExecutorPlugin, PluginContext}
import org.apache.spark.sql.execution.streaming.state.StateStoreProvider
import org.apache.spark.ui.bucketstate.HadoopOfSpark
import org.slf4j.LoggerFactory

import io.bucketstate.background.{BackgroundPool, Repeated, Ticker}
import io.bucketstate.plugin.status.{ExecutorStatus, StatusJson}
import io.bucketstate.plugin.warm.JvmWarmUp
import io.bucketstate.store.StoreMemory
import io.bucketstate.watch.StoreWatch

/**
 * The plugin in each process that runs tasks: it is told of every commit, puts figures into Spark's registry
 * of metrics, tells the driver how things stand, and warms the process up. Whatever goes wrong in it, tasks go on.
 *
 * @param provider     class name of the provider: where another one is set, nothing is warmed up
 * @param makeProvider one that is not initialised
 */
private[plugin] final class ExecutorSide(provider: String, makeProvider: () => StateStoreProvider)
    extends ExecutorPlugin {
  import ExecutorSide._

  private[this] val board = new ExecutorBoard
  private[this] val isSilent = new AtomicBoolean
  @volatile private[this] var telling: Option[Repeated] = None
  @volatile private[this] var warming: Option[JvmWarmUp] = None

  override def init(context: PluginContext, extra: JMap[String, String]): Unit =
    Harmless("the executor's part") {
      val settings = PluginSettings.read(context.conf)
      val metrics = new ExecutorMetrics(context.metricRegistry, () => Ticker.System.nanos)
      StoreWatch.begin(board)
      telling = Some(
        Repeated("bucketstate-plugin", TimeUnit.MILLISECONDS.toNanos(settings.intervalMs)) { () =>
          tell(context, metrics)
        }
      )
      val warmUpMs = settings.warmUpMs(inDriver = context.executorID == Driver)
      if (warmUpMs > 0 && context.conf.get(TurnedOn.Provider, "") == provider) {
        val hadoopConf = HadoopOfSpark.conf(context.conf)
        warming = Some(new JvmWarmUp(makeProvider, context.conf, hadoopConf, warmUpMs))
        warming.foreach(_.start())
      }
    }

  override def shutdown(): Unit = {
    StoreWatch.end(board)
    telling.foreach(_.stop())
    warming.foreach(_.stop())
  }

  private def tell(context: PluginContext, metrics: ExecutorMetrics): Unit =
    try {
      val current = status(context)
      val known = StatusJson.readQueries(context.ask(StatusJson.write(current)).toString)
      board.forget(known.ended)
      // What has ended has no name any more, and is not shown.
      metrics.show(known, current)
      isSilent.set(false)
    } catch {
      case _: InterruptedException => ()
      // What is thrown here ends the reports for good, and memory may have been short for a moment only.
      case e @ (NonFatal(_) | _: LinkageError | _: OutOfMemoryError) =>
        if (!isSilent.getAndSet(true)) {
          log.warn(
            "The driver was not told how the stores of this executor stand, and will be as soon as it answers",
            e
          )
        }
    }

  private def status(context: PluginContext): ExecutorStatus = ExecutorStatus(
    context.executorID,
    StoreMemory.heapBytes,
    StoreMemory.heapLimit,
    BackgroundPool.queued,
    board.storeStatus,
    board.operatorStatus
  )
}

private object ExecutorSide {
  private val log = LoggerFactory.getLogger(classOf[ExecutorSide])

  /** What Spark calls the executor of a driver that runs tasks itself. */
  private final val Driver = "driver"
}
