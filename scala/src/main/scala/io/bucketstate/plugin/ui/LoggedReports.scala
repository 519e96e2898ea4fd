package io.bucketstate.plugin.ui

import scala.collection.mutable

import io.bucketstate.config.MetricKey
import io.bucketstate.plugin.queries.{BoardView, ExecutorView, PlacedStore, QueryView}
import io.bucketstate.plugin.status.ExecutorStatus

/**
 * Which reports go into an application's log: of each executor one in an interval, and the last of a query. They
 * hold what the pages show. Thread-safe.
 *
 * @param every nanoseconds; 0 for never
 * @param nanos a clock for durations
 */
private[plugin] final class LoggedReports(every: Long, nanos: () => Long) {
  import LoggedReports._

  private[this] val logged = mutable.HashMap.empty[String, Long]

  /** What is to be logged of what an executor tells now. */
  def due(status: ExecutorStatus): Option[ExecutorStatus] = synchronized {
    val now = nanos()
    val isDue = every > 0 && status.stores.nonEmpty &&
      logged.get(status.executor).forall(now - _ >= every)
    if (isDue) logged.put(status.executor, now)
    Option.when(isDue)(shortened(status))
  }

  /** What is to be logged of queries that end, or whose application does. */
  def last(board: BoardView, ended: QueryView => Boolean): Seq[ExecutorStatus] =
    if (every <= 0) Nil
    else {
      val stores = board.queries.filter(ended).flatMap(_.stores).groupBy(_.executor)
      board.executors.flatMap(one => stores.get(one.executor).map(statusOf(one, _)))
    }
}

private object LoggedReports {

  /** The gauges that the pages show. */
  private val Shown = Set(MetricKey.SnapshotLag, MetricKey.ColdBytes, MetricKey.Uncounted)

  private def shortened(status: ExecutorStatus): ExecutorStatus = status.copy(
    stores = status.stores.map(store => store.copy(gauges = store.gauges.filter(g => Shown(g._1)))),
    operators = Nil
  )

  private def statusOf(executor: ExecutorView, stores: Seq[PlacedStore]): ExecutorStatus =
    shortened(
      ExecutorStatus(
        executor.executor,
        executor.memoryBytes,
        executor.memoryLimit,
        executor.queued,
        stores.map(_.status),
        Nil
      )
    )
}
