package io.bucketstate.plugin

import java.util.concurrent.TimeUnit

import scala.collection.mutable

import io.bucketstate.plugin.status.{LastIds, OperatorStatus}
import io.bucketstate.watch.OperatorLabel

/**
 * The counts of runs that have ended. They are shown for some minutes: a failure that ended its run would be gone before
 * Prometheus looks, and what executors tell of it may come later than the end. Another run of the name goes on counting
 * from there, because a count that fell would hide an event, or count one twice. Not thread-safe.
 *
 * @param nanos      a clock
 * @param intervalMs at which executors tell
 */
private[plugin] final class LastingCounts(nanos: () => Long, intervalMs: Long) {
  import LastingCounts._

  // What an executor tells at its next turn, and once more where a message was late, is shown.
  private[this] val keptNanos = math.max(KeptNanos, 2 * TimeUnit.MILLISECONDS.toNanos(intervalMs))
  // In the order in which they ended.
  private[this] val shown = mutable.LinkedHashMap.empty[String, Ended]
  // What those runs of a name had counted that are not shown any more, by operator.
  private[this] val before = mutable.HashMap.empty[String, Map[Long, OperatorStatus]]
  private[this] val forgotten = new LastIds

  /** @param query with the name that metrics had for it; None for a run whose begin was never told of */
  def add(run: String, query: Option[RunningQuery]): Unit = {
    query.foreach(known => shown.put(run, Ended(known, nanos())))
    if (!shown.contains(run)) forgotten.add(run)
  }

  /** Whether executors may forget what they have of a run. */
  def isForgotten(run: String): Boolean = forgotten.has(run)

  /** Whether what the run had counted is shown yet. */
  def isShown(run: String): Boolean = shown.contains(run)

  /**
   * Takes the runs out that have been shown for long enough, and gives them.
   *
   * @param running names of the queries that run: what their former runs had counted stays
   * @param counted by the operators of all runs
   */
  def settle(running: Set[String], counted: => Map[OperatorLabel, OperatorStatus]): Set[String] = {
    val now = nanos()
    val over = shown.size - Most
    val old = shown.toVector.zipWithIndex.collect {
      case ((run, ended), at) if at < over || now - ended.at >= keptNanos => run -> ended.query
    }
    if (old.nonEmpty) {
      val by = counted.values.groupBy(_.label.run)
      old.foreach { case (run, query) =>
        shown.remove(run)
        forgotten.add(run)
        val all = byOperator(by.getOrElse(run, Nil))
        before.updateWith(query.name)(last => Some(sum(last.getOrElse(Map.empty), all)))
      }
    }
    val names = running ++ shown.values.map(_.query.name)
    before.filterInPlace((name, _) => names(name))
    old.map(_._1).toSet
  }

  /** The queries of runs that are shown, one for each name, the last that ended. */
  def queries: Seq[RunningQuery] =
    shown.values.map(_.query).groupMapReduce(_.name)(q => q)((_, later) => later).values.toVector

  /** What the runs of a name had counted, by operator. */
  def countedOf(
      name: String,
      counted: Map[OperatorLabel, OperatorStatus]
  ): Map[Long, OperatorStatus] = {
    val runs = shown.values.map(_.query).filter(_.name == name).map(_.run).toSet
    val yet = counted.values.filter(status => runs(status.label.run))
    sum(before.getOrElse(name, Map.empty), byOperator(yet))
  }
}

private[plugin] object LastingCounts {

  /** At least so long: several scrapes, also of a Prometheus that looks every minute. */
  val KeptNanos: Long = TimeUnit.MINUTES.toNanos(5)

  /** More than this many would make a scrape long. The first of them go earlier. */
  final val Most = 100

  private final case class Ended(query: RunningQuery, at: Long)

  private def byOperator(counted: Iterable[OperatorStatus]): Seq[(Long, OperatorStatus)] =
    counted.toSeq.map(status => status.label.operator -> status)

  private def sum(
      one: Map[Long, OperatorStatus],
      other: Iterable[(Long, OperatorStatus)]
  ): Map[Long, OperatorStatus] =
    other.foldLeft(one) { case (all, (operator, status)) =>
      all.updated(operator, all.get(operator).fold(status)(_ + status))
    }
}
