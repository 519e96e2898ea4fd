package io.bucketstate.plugin

import java.io.InterruptedIOException
import java.nio.channels.ClosedByInterruptException
import java.util.concurrent.ConcurrentHashMap

import scala.jdk.CollectionConverters._

import io.bucketstate.config.{MetricKey, MetricType}
import io.bucketstate.error._
import io.bucketstate.plugin.status._
import io.bucketstate.watch.{CommitReport, OperatorLabel, StoreLabel, StoreWatch, WatchedStore}

/**
 * What the stores of this process have told. Thread-safe; a report costs the same for every number of stores.
 *
 * What is counted is counted by operator and stays when a store is closed, as does how the store stood. It goes when the
 * driver says so, some minutes after the end of the query; of a store also when another executor has gone on with it.
 */
private[plugin] final class ExecutorBoard extends StoreWatch {
  import ExecutorBoard._

  private[this] val stores = new ConcurrentHashMap[WatchedStore, StoreStatus]
  // How stores stood that were closed: Spark may close each behind its commit.
  private[this] val past = new ConcurrentHashMap[StoreLabel, StoreStatus]
  private[this] val operators = new ConcurrentHashMap[OperatorLabel, OperatorStatus]

  override def committed(store: WatchedStore, report: CommitReport): Unit = {
    val (counted, gauges) = report.values.partition(_._1.metricType == MetricType.Counter)
    // Asked while nobody else changes its entry, so that none comes after the end.
    stores.compute(
      store,
      (_, last) => {
        val before = if (last == null) past.get(store.label) else last
        val current = next(Option(before), store, report, gauges)
        if (store.isClosed) keep(current) else current
      }
    )
    change(store) { operator =>
      operator.copy(
        commitTimes = operator.commitTimes.record(report.commitNanos),
        loadTimes =
          if (counted.getOrElse(MetricKey.TableReloads, 0L) == 0) operator.loadTimes
          else operator.loadTimes.record(counted.getOrElse(MetricKey.ReloadTime, 0L) * 1000000L),
        counters = Totals.sum(operator.counters, counted)
      )
    }
  }

  override def failed(store: WatchedStore, failure: Throwable): Unit =
    change(store) { operator =>
      operator.copy(failures = Totals.sum(operator.failures, Map(kindOf(failure) -> 1L)))
    }

  override def taskFailed(store: WatchedStore, failure: Throwable): Unit =
    if (!OfOthers(kindOf(failure))) failed(store, failure)

  override def closed(store: WatchedStore): Unit = {
    stores.computeIfPresent(store, (_, last) => keep(last))
    ()
  }

  /** Takes down how a store stood, and gives what is left of it among those that are loaded: nothing. */
  private def keep(last: StoreStatus): StoreStatus = {
    if (last.label.run.nonEmpty) {
      past.merge(last.label, last.closed, (a, b) => if (a.version > b.version) a else b)
    }
    null
  }

  /** Each store is in it once that is loaded, or that was and is not. */
  def storeStatus: Seq[StoreStatus] = {
    // In this order: one that is closed meanwhile is found in one place at least.
    val loaded = stores.values.asScala.toVector
    val labels = loaded.map(_.label).toSet
    loaded ++ past.values.asScala.filterNot(status => labels(status.label))
  }

  def operatorStatus: Seq[OperatorStatus] = operators.values.asScala.toVector

  /** The runs have ended, and nobody asks any more: what was counted for them goes. */
  def forget(runs: Set[String]): Unit = if (runs.nonEmpty) {
    stores.keySet.removeIf(store => runs(store.label.run))
    past.keySet.removeIf(label => runs(label.run))
    operators.keySet.removeIf(operator => runs(operator.run))
    ()
  }

  /** Other executors have gone on with these: how they stood here goes, unless they were here again meanwhile. */
  def forgetMoved(closed: Seq[StoreStatus]): Unit =
    closed.foreach(status => past.remove(status.label, status))

  private def next(
      last: Option[StoreStatus],
      store: WatchedStore,
      report: CommitReport,
      gauges: Map[MetricKey, Long]
  ): StoreStatus = {
    val changed = report.values.getOrElse(MetricKey.ChangedKeys, 0L)
    StoreStatus(
      store.label,
      report.version,
      report.keys,
      report.memoryBytes,
      last.fold(0L)(_.commits) + 1,
      last.fold(0L)(_.changed) + changed,
      last.fold(0L)(_.changelogBytes) + report.values.getOrElse(MetricKey.ChangelogBytes, 0L),
      LastCommit(changed, report.commitNanos),
      gauges
    )
  }

  /** Nothing is kept of stores outside of a query: nobody would ever say that it has ended. */
  private def change(store: WatchedStore)(next: OperatorStatus => OperatorStatus): Unit =
    if (store.label.run.nonEmpty) {
      operators.compute(
        store.label.ofOperator,
        (label, last) => next(Option(last).getOrElse(OperatorStatus.none(label)))
      )
      ()
    }
}

private[plugin] object ExecutorBoard {

  /** The kinds of [[kindOf]]. */
  val Kinds: Seq[String] =
    Seq("damaged", "missing", "conflict", "setting", "storage", "memory", "interrupted", "other")

  /** The kinds of which a task's failure says nothing about its stores. */
  private val OfOthers = Set("interrupted", "other")

  /**
   * What went wrong, as a word: what the first of the causes is that says so. A task that was killed is told apart before
   * all else, because what it was doing to the storage then has failed as well.
   */
  def kindOf(failure: Throwable): String = {
    val causes = StoreWatch.causesOf(failure)
    if (causes.exists(isInterrupt)) "interrupted"
    else
      causes
        .collectFirst {
          case _: CorruptException     => "damaged"
          case _: MissingException     => "missing"
          case _: ConflictException    => "conflict"
          case _: InvalidException     => "setting"
          case _: UnavailableException => "storage"
          case _: OutOfMemoryError     => "memory"
        }
        .getOrElse("other")
  }

  private def isInterrupt(cause: Throwable): Boolean = cause match {
    case _: InterruptedException | _: ClosedByInterruptException => true
    // Those below it are of time-outs, of sockets and of the clients' own.
    case e: InterruptedIOException => e.getClass == classOf[InterruptedIOException]
    case _                         => false
  }
}
