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
  @volatile private var driver: Option[PluginContext] = None

  override def init(context: PluginContext, extra: JMap[String, String]): Unit =
    Harmless("the executor's part") {
      val settings = PluginSettings.read(context.conf)
      val metrics = new ExecutorMetrics(context.metricRegistry, () => Ticker.System.nanos)
      StoreWatch.begin(board)
      driver = Some(context)
      if (isInDriver(context)) ExecutorSide.begin(this)
      telling = Some(
        Repeated("bucketstate-plugin", TimeUnit.MILLISECONDS.toNanos(settings.intervalMs)) { () =>
          tell(context, metrics)
        }
      )
      val warmUpMs = settings.warmUpMs(inDriver = isInDriver(context))
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
    // In local mode the driver has looked, before it closed the stores.
    driver.filter(!isInDriver(_) && board.storeStatus.nonEmpty).foreach(tellLast)
  }

  /**
   * The driver is told once more, so that the application's log has what was committed since the last time. It may be there no
   * more: it is given a moment, on a thread that can be left behind, and nothing is said where it does not answer.
   */
  private def tellLast(context: PluginContext): Unit =
    try {
      val telling: Runnable = () =>
        try {
          context.ask(StatusJson.write(status(context)))
          ()
        } catch {
          // Spark ends a process at once in which a thread fails.
          case e: Throwable => log.debug(NotTold, e)
        }
      val thread = new Thread(telling, "bucketstate-plugin-last")
      thread.setDaemon(true)
      thread.start()
      thread.join(LastTellMs)
      thread.interrupt()
    } catch {
      case _: InterruptedException => Thread.currentThread.interrupt()
      // There may be no memory for a thread.
      case e @ (NonFatal(_) | _: OutOfMemoryError) => log.debug(NotTold, e)
    }

  private def tell(context: PluginContext, metrics: ExecutorMetrics): Unit =
    try {
      val current = status(context)
      val known = StatusJson.readQueries(context.ask(StatusJson.write(current)).toString)
      board.forget(known.ended)
      val (moved, its) = current.stores.partition(s => !s.isLoaded && known.moved(s.label))
      board.forgetMoved(moved)
      // What has ended has no name any more, and is not shown.
      metrics.show(known, current.copy(stores = its))
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

private[plugin] object ExecutorSide {
  private val log = LoggerFactory.getLogger(classOf[ExecutorSide])

  private final val NotTold = "The driver was not told of the last commits"

  /** How long the end of a process may wait for the driver. */
  private final val LastTellMs = 2000L

  /** What Spark calls the executor of a driver that runs tasks itself. */
  private final val Driver = "driver"

  private def isInDriver(context: PluginContext): Boolean = context.executorID == Driver

  @volatile private[this] var current = Option.empty[ExecutorSide]

  /** How the stores of the driver's process stand; None where it runs no tasks. */
  def here: Option[ExecutorStatus] =
    for {
      side <- current
      context <- side.driver
    } yield side.status(context)

  /** The driver ends, behind whom nobody asks. */
  def leave(): Unit = current = None

  private def begin(side: ExecutorSide): Unit = current = Some(side)
}
