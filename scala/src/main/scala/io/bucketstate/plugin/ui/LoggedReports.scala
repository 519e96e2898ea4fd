package io.bucketstate.plugin.ui

import scala.collection.mutable

import io.bucketstate.config.MetricKey
import io.bucketstate.plugin.queries.{BoardView, ExecutorView, QueryView}
import io.bucketstate.plugin.status.{ExecutorStatus, StoreStatus}
import io.bucketstate.watch.StoreLabel

/**
 * Which reports go into an application's log: of each executor one in an interval, and the last of a query. They
 * hold what the pages show. Thread-safe.
 *
 * Executors tell from time to time, so the last commits of a query may be told of after its end. They are logged then.
 *
 * @param every nanoseconds; 0 for never
 * @param nanos a clock for durations
 */
private[plugin] final class LoggedReports(every: Long, nanos: () => Long) {
  import LoggedReports._

  private[this] val logged = mutable.HashMap.empty[String, Long]
  // By run: the newest version of each store.
  private[this] val versions = mutable.HashMap.empty[String, mutable.HashMap[StoreLabel, Long]]

  /**
   * What is to be logged of what an executor tells now: all, or in between what is new of runs that have ended.
   *
   * @param hasEnded whether a run has
   */
  def due(status: ExecutorStatus, hasEnded: String => Boolean): Option[ExecutorStatus] =
    if (every <= 0) None
    else
      synchronized {
        val now = nanos()
        // What was closed stands as it was logged.
        val stores = status.stores.filter(store => store.isLoaded || isNewer(store))
        val isDue = stores.nonEmpty && logged.get(status.executor).forall(now - _ >= every)
        if (isDue) {
          logged.put(status.executor, now)
          report(status, stores)
        } else {
          val ended = status.stores.map(_.label.run).distinct.filter(hasEnded).toSet
          report(status, status.stores.filter(s => ended(s.label.run) && isNewer(s)))
        }
      }

  /**
   * What is to be logged of queries that end, or whose application does, and was not yet.
   *
   * @param board asked for if anything is logged at all
   */
  def last(board: => BoardView, which: QueryView => Boolean): Seq[ExecutorStatus] =
    if (every <= 0) Nil
    else
      synchronized {
        val view = board
        val known = view.queries.map(_.run).toSet
        versions.filterInPlace((run, _) => known(run))
        val stores = view.queries
          .filter(which)
          .flatMap(_.stores)
          .filter(placed => isNewer(placed.status))
          .groupMap(_.executor)(_.status)
        view.executors.flatMap { one =>
          stores.get(one.executor).flatMap(report(statusOf(one), _))
        }
      }

  /** An executor is there no more. */
  def removed(executor: String): Unit = synchronized {
    logged -= executor
    ()
  }

  private def isNewer(store: StoreStatus): Boolean =
    versions.get(store.label.run).flatMap(_.get(store.label)).forall(_ < store.version)

  /** A report with these stores alone, which count as logged from now on; none without any. */
  private def report(status: ExecutorStatus, stores: Seq[StoreStatus]): Option[ExecutorStatus] = {
    stores.foreach { store =>
      val its = versions.getOrElseUpdate(store.label.run, mutable.HashMap.empty)
      // One that has moved is told of with an older version from where it was.
      its.updateWith(store.label)(before => Some(before.fold(store.version)(_.max(store.version))))
    }
    Option.when(stores.nonEmpty)(shortened(status, stores))
  }
}

private object LoggedReports {

  /** The gauges that the pages show. */
  private val Shown = Set(MetricKey.SnapshotLag, MetricKey.ColdBytes, MetricKey.Uncounted)

  private def shortened(status: ExecutorStatus, stores: Seq[StoreStatus]): ExecutorStatus =
    status.copy(
      stores = stores.map(store => store.copy(gauges = store.gauges.filter(g => Shown(g._1)))),
      operators = Nil,
      loaded = Option.when(stores.count(_.isLoaded) != status.storeCount)(status.storeCount)
    )

  private def statusOf(executor: ExecutorView): ExecutorStatus = ExecutorStatus(
    executor.executor,
    executor.memoryBytes,
    executor.memoryLimit,
    executor.queued,
    Nil,
    Nil,
    Some(executor.stores)
  )
}
