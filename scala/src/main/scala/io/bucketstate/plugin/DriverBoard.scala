package io.bucketstate.plugin

import scala.collection.mutable

import io.bucketstate.plugin.status._
import io.bucketstate.watch.OperatorLabel

/**
 * A query run that the driver knows.
 *
 * @param name that the user gave it, or else its id
 */
private[plugin] final case class RunningQuery(run: String, name: String)

/**
 * One stateful operator over all executors.
 *
 * @param stores of each partition the one with the newest version, with the executor that has it
 */
private[plugin] final case class OperatorView(
    query: RunningQuery,
    operator: Long,
    stores: Seq[(String, StoreStatus)],
    status: OperatorStatus
)

/** What all executors of the application have told, and which queries run. Thread-safe. */
private[plugin] final class DriverBoard {
  import DriverBoard._

  private[this] val queries = mutable.LinkedHashMap.empty[String, RunningQuery]
  private[this] val ended = mutable.LinkedHashSet.empty[String]
  private[this] val told = mutable.LinkedHashMap.empty[String, ExecutorStatus]
  // What executors had counted that are not there any more.
  private[this] val lost = mutable.HashMap.empty[OperatorLabel, OperatorStatus]
  private[this] val gone = new RemovedExecutors

  def began(query: RunningQuery): Unit = synchronized {
    queries.put(query.run, query)
    ()
  }

  def ended(run: String): Unit = synchronized {
    queries.remove(run)
    ended += run
    if (ended.size > MostEnded) ended -= ended.head
    lost.filterInPlace((operator, _) => operator.run != run)
    ()
  }

  /** Takes what an executor tells, and gives what it has to know. One that was removed is answered alone. */
  def update(status: ExecutorStatus): KnownQueries = synchronized {
    // What it had counted is in `lost` already.
    if (!gone.has(status.executor)) told.put(status.executor, status)
    val runs = status.operators.map(_.label.run).toSet ++ status.stores.map(_.label.run)
    KnownQueries(
      runs.flatMap(run => queries.get(run).map(run -> _.name)).toMap,
      runs.filter(ended)
    )
  }

  def removed(executor: String): Unit = synchronized {
    gone.add(executor)
    told.remove(executor).foreach { status =>
      status.operators.filter(o => queries.contains(o.label.run)).foreach { operator =>
        lost.updateWith(operator.label)(before => Some(before.fold(operator)(_ + operator)))
      }
    }
  }

  def executors: Seq[ExecutorStatus] = synchronized(told.values.toVector)

  /** The operators of the queries that run, in the order in which these began. */
  def operators: Seq[OperatorView] = synchronized {
    val status =
      (told.values.flatMap(_.operators) ++ lost.values).groupMapReduce(_.label)(o => o)(_ + _)
    val stores = told.values.toSeq
      .flatMap(executor => executor.stores.map(executor.executor -> _))
      .groupBy(_._2.label)
      // One that has moved to another executor is still loaded where it was, for a while.
      .values
      .toSeq
      .map(_.maxBy(_._2.version))
      .groupBy(_._2.label.of)
    for {
      query <- queries.values.toVector
      operator <- (status.keySet ++ stores.keySet)
        .filter(_.run == query.run)
        .toVector
        .sortBy(_.operator)
    } yield OperatorView(
      query,
      operator.operator,
      stores.getOrElse(operator, Nil).toVector.sortBy { case (_, s) =>
        (s.label.partition, s.label.name)
      },
      status.getOrElse(operator, OperatorStatus.none(operator))
    )
  }
}

private object DriverBoard {

  /** Executors that have not heard of the end of one of so many later runs keep what they counted for it. */
  private final val MostEnded = 10000
}
