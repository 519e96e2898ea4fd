package io.bucketstate.plugin.ui

import org.apache.spark.scheduler.{SparkListener, SparkListenerEvent, SparkListenerExecutorRemoved}
import org.apache.spark.sql.streaming.StreamingQueryListener.{
  QueryProgressEvent,
  QueryStartedEvent,
  QueryTerminatedEvent
}
import org.slf4j.LoggerFactory

import io.bucketstate.plugin.queries.{Batch, QueryBoard}
import io.bucketstate.plugin.status.StatusJson

/**
 * Brings what Spark's events tell of queries to a board. Called by one thread: that of Spark's listeners, or the one that
 * reads a log. What cannot be read is left out, and said once.
 *
 * @param isLog whether the reports of executors come as events, too
 */
private[plugin] final class QueryEvents(board: QueryBoard, isLog: Boolean) extends SparkListener {
  import QueryEvents._

  private[this] val guard = new Guard(log, "The tab State lacks what some events told")

  override def onOtherEvent(event: SparkListenerEvent): Unit = guard(take(event))

  override def onExecutorRemoved(event: SparkListenerExecutorRemoved): Unit =
    guard(board.removed(event.executorId))

  private def take(event: SparkListenerEvent): Unit = event match {
    case start: QueryStartedEvent =>
      val name = Option(start.name).filter(_.nonEmpty).getOrElse(start.id.toString)
      board.began(start.runId.toString, start.id.toString, name, start.timestamp)
    case had: QueryProgressEvent =>
      Batch.of(had.progress.json).foreach(board.had(had.progress.runId.toString, _))
    case end: QueryTerminatedEvent    => board.ended(end.runId.toString, end.exception)
    case report: StateReport if isLog => board.toldByLog(StatusJson.readStatus(report.status))
    case _                            => ()
  }
}

private object QueryEvents {
  private val log = LoggerFactory.getLogger(classOf[QueryEvents])
}
