package io.bucketstate.plugin

import scala.collection.mutable

import io.bucketstate.plugin.status._
import io.bucketstate.watch.{OperatorLabel, StoreLabel}

/**
 * One stateful operator over all executors.
 *
 * @param query     with the name that metrics have for it
 * @param isRunning whether a run that is not over has told of it
 * @param stores    of each partition the one with the newest version, with the executor that has it
 * @param status    what was counted under that name, also by runs that have ended
 */
private[plugin] final case class OperatorView(
    query: RunningQuery,
    operator: Long,
    isRunning: Boolean,
    stores: Seq[(String, StoreStatus)],
    status: OperatorStatus
)

/**
 * What all executors of the application have told, and which queries run. Thread-safe.
 *
 * @param nanos  a clock for durations
 * @param series the setting of that name
 * @param intervalMs at which executors tell
 */
private[plugin] final class DriverBoard(nanos: () => Long, series: String, intervalMs: Long = 0L) {
  import DriverBoard._

  private[this] val queries = mutable.LinkedHashMap.empty[String, RunningQuery]
  private[this] var names = Map.empty[String, String] // by run, as long as it is not over
  private[this] val lasting = new LastingCounts(nanos, intervalMs)
  private[this] val latest = mutable.LinkedHashMap.empty[String, ExecutorStatus]
  // What executors had counted that are not there any more.
  private[this] val lost = mutable.HashMap.empty[OperatorLabel, OperatorStatus]
  private[this] val gone = new LastIds

  def began(query: RunningQuery): Unit = synchronized {
    // Spark lets a query run once at a time, and may drop the event of an end when it has too many.
    queries.values.filter(_.id == query.id).map(_.run).toVector.foreach(ended)
    queries.put(query.run, query)
    names += query.run -> nameOf(query, names.values.toSet)
  }

  def ended(run: String): Unit = synchronized {
    lasting.add(run, queries.remove(run).map(query => query.copy(name = names(run))))
    names -= run
    settle()
  }

  /** Takes what an executor tells, and gives what it has to know. One that was removed is answered alone. */
  def update(status: ExecutorStatus): KnownQueries = synchronized {
    // What it had counted is in `lost` already.
    if (!gone.has(status.executor)) latest.put(status.executor, status)
    settle()
    val runs = status.operators.map(_.label.run).toSet ++ status.stores.map(_.label.run)
    KnownQueries(
      names.filter(named => runs(named._1)),
      runs.filter(lasting.isForgotten),
      hasPartitions,
      movedFrom(status)
    )
  }

  /** What was closed there, and is shown of another executor. */
  private def movedFrom(status: ExecutorStatus): Set[StoreLabel] = {
    val closed = status.stores.filterNot(_.isLoaded).map(_.label).toSet
    if (closed.isEmpty) closed
    else newest(closed).filter(_._1 != status.executor).map(_._2.label).toSet
  }

  /** The newest version of each store, with the executor that has told of it. */
  private def newest(which: StoreLabel => Boolean): Seq[(String, StoreStatus)] =
    latest.values.toSeq
      .flatMap(executor =>
        executor.stores.filter(store => which(store.label)).map(executor.executor -> _)
      )
      .groupBy(_._2.label)
      // One that has moved to another executor is still loaded where it was, for a while.
      .values
      .toSeq
      .map(_.maxBy { case (_, store) => (store.version, store.isLoaded) })

  def removed(executor: String): Unit = synchronized {
    gone.add(executor)
    latest.remove(executor).foreach { status =>
      status.operators.filter(o => isShown(o.label.run)).foreach { operator =>
        lost.updateWith(operator.label)(before => Some(before.fold(operator)(_ + operator)))
      }
    }
  }

  def executors: Seq[ExecutorStatus] = synchronized(latest.values.toVector)

  /** Whether single partitions have figures of their own, too. */
  def hasPartitions: Boolean = synchronized {
    series == "partition" || (series == "auto" && storesUpTo(MostStores + 1) <= MostStores)
  }

  /** Stores of the queries that run, each once; no more of them are looked at than that. */
  private def storesUpTo(most: Int): Int = latest.valuesIterator
    .flatMap(_.stores)
    .map(_.label)
    .filter(label => queries.contains(label.run))
    .distinct
    .take(most)
    .size

  /** The operators of the queries that run, in the order in which these began, and of those that ended lately. */
  def operators: Seq[OperatorView] = synchronized {
    settle()
    val status = counted
    val stores = newest(_ => true).groupBy(_._2.label.ofOperator)
    val running = queries.values.toVector.map(query => query.copy(name = names(query.run)))
    val ended = lasting.queries.filterNot(query => running.exists(_.name == query.name))
    for {
      query <- running ++ ended
      before = lasting.countedOf(query.name, status)
      now =
        if (queries.contains(query.run)) (status.keySet ++ stores.keySet).filter(_.run == query.run)
        else Set.empty[OperatorLabel]
      operator <- (now.map(_.operator) ++ before.keySet).toVector.sorted
    } yield {
      val label = OperatorLabel(query.run, operator)
      val its = Seq(label).filter(now)
      OperatorView(
        query,
        operator,
        its.nonEmpty,
        its.flatMap(stores.getOrElse(_, Nil)).sortBy { case (_, s) =>
          (s.label.partition, s.label.name)
        },
        (its.flatMap(status.get) ++ before.get(operator)).fold(OperatorStatus.none(label))(_ + _)
      )
    }
  }

  /** What was counted in the runs that are known, also by executors that are lost. */
  private def counted: Map[OperatorLabel, OperatorStatus] =
    (latest.values.flatMap(_.operators) ++ lost.values).groupMapReduce(_.label)(o => o)(_ + _)

  private def isShown(run: String): Boolean = queries.contains(run) || lasting.isShown(run)

  private def settle(): Unit =
    if (lasting.settle(names.values.toSet, counted).nonEmpty) {
      lost.filterInPlace((operator, _) => isShown(operator.run))
      ()
    }
}

private object DriverBoard {

  /** With more series of single partitions than this they are left out, unless they are asked for. */
  private final val MostSeries = 1000

  private val MostStores =
    MostSeries / Series.of(StoreStatus.none(StoreLabel("", 0, 0, ""))).size

  /**
   * What metrics call a run. A session keeps its queries' names apart, an application has many sessions, and sinks do not
   * tell all characters apart: what is taken by a query that runs is not given again, and the id goes with the name. What
   * was given once stays to the end of the run, because a series that goes on under another name looks like new events.
   *
   * @param taken by those that run
   */
  private def nameOf(query: RunningQuery, taken: Set[String]): String = {
    val alike = taken.map(ExecutorMetrics.nameOf)
    if (alike(ExecutorMetrics.nameOf(query.name))) s"${query.name} (${query.id})" else query.name
  }
}
