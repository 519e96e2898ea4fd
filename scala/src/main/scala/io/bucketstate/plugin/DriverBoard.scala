package io.bucketstate.plugin

import scala.collection.mutable

import io.bucketstate.plugin.status._
import io.bucketstate.watch.OperatorLabel

/**
 * A query run that the driver knows.
 *
 * @param id   of the query, the same in each of its runs
 * @param name that the user gave it, or else its id
 */
private[plugin] final case class RunningQuery(run: String, id: String, name: String)

/**
 * One stateful operator over all executors.
 *
 * @param query  with the name that metrics have for it
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
  private[this] var names = Map.empty[String, String]
  private[this] val endedRuns = new LastIds
  private[this] val told = mutable.LinkedHashMap.empty[String, ExecutorStatus]
  // What executors had counted that are not there any more.
  private[this] val lost = mutable.HashMap.empty[OperatorLabel, OperatorStatus]
  private[this] val gone = new LastIds

  def began(query: RunningQuery): Unit = synchronized {
    // Spark lets a query run once at a time, and may drop the event of an end when it has too many.
    queries.values.filter(_.id == query.id).map(_.run).toVector.foreach(ended)
    queries.put(query.run, query)
    names = namesOf(queries.values.toVector)
  }

  def ended(run: String): Unit = synchronized {
    queries.remove(run)
    names = namesOf(queries.values.toVector)
    endedRuns.add(run)
    lost.filterInPlace((operator, _) => operator.run != run)
    ()
  }

  /** Takes what an executor tells, and gives what it has to know. One that was removed is answered alone. */
  def update(status: ExecutorStatus): KnownQueries = synchronized {
    // What it had counted is in `lost` already.
    if (!gone.has(status.executor)) told.put(status.executor, status)
    val runs = status.operators.map(_.label.run).toSet ++ status.stores.map(_.label.run)
    KnownQueries(
      names.filter(named => runs(named._1)),
      runs.filter(endedRuns.has)
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
      query.copy(name = names(query.run)),
      operator.operator,
      stores.getOrElse(operator, Nil).toVector.sortBy { case (_, s) =>
        (s.label.partition, s.label.name)
      },
      status.getOrElse(operator, OperatorStatus.none(operator))
    )
  }
}

private object DriverBoard {

  /**
   * What metrics call each run. A session keeps its queries' names apart, an application has many sessions, and sinks do not
   * tell all characters apart: where a name is not one query's alone, the id goes with it.
   */
  private def namesOf(running: Seq[RunningQuery]): Map[String, String] =
    running
      .groupBy(query => ExecutorMetrics.nameOf(query.name))
      .values
      .flatMap { alike =>
        alike.map(q => q.run -> (if (alike.size == 1) q.name else s"${q.name} (${q.id})"))
      }
      .toMap
}
