package io.bucketstate.plugin

import java.util.concurrent.TimeUnit

import org.apache.spark.SparkContext
import org.apache.spark.scheduler.{
  SparkListener,
  SparkListenerApplicationEnd,
  SparkListenerEvent,
  SparkListenerExecutorRemoved
}
import org.apache.spark.sql.streaming.StreamingQueryListener.QueryTerminatedEvent
import org.apache.spark.ui.bucketstate.SparkTab
import org.slf4j.LoggerFactory

import io.bucketstate.background.Ticker
import io.bucketstate.plugin.queries.{QueryBoard, QueryView}
import io.bucketstate.plugin.status.{ExecutorStatus, StatusJson}
import io.bucketstate.plugin.ui.{Guard, LoggedReports, QueryEvents, StatePages, StateReport}

/**
 * The tab State of a live application, and what goes into its event log for the history server. Thread-safe.
 *
 * @param post gives an event to Spark
 */
private[plugin] final class StateTab(
    board: QueryBoard,
    logged: LoggedReports,
    post: SparkListenerEvent => Unit
) {
  import StateTab._

  private[this] val guard = new Guard(logger, "The tab State lacks what executors told")

  private[this] var isEnding = false

  /** Takes what an executor tells. A failure is said once. */
  def told(status: ExecutorStatus): Unit = guard {
    board.told(status)
    // What comes after its executor was removed is not shown, and from the log it would be.
    if (!board.isGone(status.executor)) logged.due(status, board.hasEnded).foreach(log)
  }

  /**
   * The application is about to end. Only the first call counts: later, stores may be closed.
   *
   * @param here how stores of this process stand
   */
  def ending(here: => Option[ExecutorStatus]): Unit = synchronized {
    if (!isEnding) {
      isEnding = true
      guard(here.foreach(told))
    }
  }

  /** The application ends: what is known of its queries is logged, also of those whose end was before the last report. */
  def end(): Unit = logLast(_ => true)

  /** An executor is there no more. */
  def removed(executor: String): Unit = guard(logged.removed(executor))

  /** A run has ended. Called after the board knows. */
  def ended(run: String): Unit = guard(logLast(_.run == run))

  private def logLast(which: QueryView => Boolean): Unit =
    logged.last(board.view, which).foreach(log)

  private def log(status: ExecutorStatus): Unit = post(StateReport(StatusJson.write(status)))
}

private[plugin] object StateTab {
  private val logger = LoggerFactory.getLogger(classOf[StateTab])

  /** Puts the tab into the application's web UI, if it has one, and begins to listen; None where nobody would see anything. */
  def begin(context: SparkContext, settings: PluginSettings): Option[StateTab] = {
    val every =
      if (context.getConf.getBoolean("spark.eventLog.enabled", defaultValue = false))
        settings.logIntervalMs
      else 0L
    Option.when(every > 0 || context.uiWebUrl.nonEmpty)(begin(context, every))
  }

  private def begin(context: SparkContext, every: Long): StateTab = {
    val board = new QueryBoard(StatePages.kept(context.getConf.getInt))
    val tab = new StateTab(
      board,
      new LoggedReports(TimeUnit.MILLISECONDS.toNanos(every), () => Ticker.System.nanos),
      SparkTab.post(context, _)
    )
    context.addSparkListener(new QueryEvents(board, isLog = false))
    // Behind the one above, in the same queue.
    context.addSparkListener(new SparkListener {
      override def onOtherEvent(event: SparkListenerEvent): Unit = event match {
        case end: QueryTerminatedEvent => tab.ended(end.runId.toString)
        case _                         => ()
      }

      // Stores of this process are closed at this event, too, by a listener that comes behind this one.
      override def onApplicationEnd(event: SparkListenerApplicationEnd): Unit =
        tab.ending(ExecutorSide.here)

      override def onExecutorRemoved(event: SparkListenerExecutorRemoved): Unit =
        tab.removed(event.executorId)
    })
    SparkTab.attach(context, StatePages.Name, StatePages.of(() => board.view))
    tab
  }
}
