package io.bucketstate.plugin

import com.codahale.metrics.{Gauge, MetricRegistry}
import org.apache.spark.sql.execution.streaming.state.StateStoreId

import io.bucketstate.plugin.status._
import io.bucketstate.watch.OperatorLabel

/**
 * The figures of one process in Spark's registry of metrics, which every sink of Spark reads. Those of a query
 * come with its name and go when it has ended. They are as of the last call of [[show]]. Thread-safe.
 *
 * @param nanos a clock
 */
private[plugin] final class ExecutorMetrics(registry: MetricRegistry, nanos: () => Long) {
  import ExecutorMetrics._

  @volatile private[this] var values = Map.empty[String, Double]
  private[this] var times = Map.empty[OperatorLabel, Times]

  // Spark takes a plugin's registry for empty, and never looks again, unless something is in it from the start.
  ofProcess(ExecutorStatus.Empty).keys.foreach(add)

  /**
   * @param known  what the driver tells of the queries that run
   * @param status how things stand
   */
  def show(known: KnownQueries, status: ExecutorStatus): Unit = synchronized {
    val now = nanos()
    times = status.operators.map { operator =>
      operator.label -> times.getOrElse(operator.label, Times.Empty).next(operator, now)
    }.toMap
    val stores = status.stores.groupBy(_.label.ofOperator)
    val counted = status.operators.map(operator => operator.label -> operator).toMap
    val next = ofProcess(status) ++ (stores.keySet ++ counted.keySet).toSeq.flatMap { operator =>
      known.names.get(operator.run).toSeq.flatMap { query =>
        val prefix = s"${nameOf(query)}.operator${operator.operator}."
        val its = stores.getOrElse(operator, Nil)
        val all = Series.of(its, counted.getOrElse(operator, OperatorStatus.none(operator)))
        // One that has moved away and back may be loaded twice for a while: the newer one comes last, and counts.
        val figures = shown(all) ++
          counted.get(operator).toSeq.flatMap(of(_, times(operator))) ++
          (if (known.hasPartitions) its.sortBy(_.version).flatMap(ofPartition) else Nil)
        figures.map { case (name, value) => prefix + name -> value }
      }
    }
    val gone = values.keySet -- next.keySet
    val come = next.keySet -- registry.getNames.toArray.map(_.toString)
    values = next
    gone.foreach(registry.remove)
    come.foreach(add)
  }

  private def add(name: String): Unit = {
    registry.gauge(
      name,
      () =>
        new Gauge[Double] {
          override def getValue: Double = values.getOrElse(name, 0.0)
        }
    )
    ()
  }
}

private[plugin] object ExecutorMetrics {

  /** Which of the durations: half of them, and so on, are at most as long. */
  private val Shares: Seq[(String, Double)] =
    Seq("p50Ms" -> 0.5, "p95Ms" -> 0.95, "p99Ms" -> 0.99)

  private def ofProcess(status: ExecutorStatus): Map[String, Double] =
    shown(Series.of(status)).toMap

  private def shown(series: Seq[Series]): Seq[(String, Double)] =
    series.map(one => one.short -> one.value)

  private def of(operator: OperatorStatus, lately: Times): Seq[(String, Double)] =
    ExecutorBoard.Kinds.map { kind =>
      s"failures.$kind" -> operator.failures.getOrElse(kind, 0L).toDouble
    } ++ of("commit", operator.commitTimes, lately.commits) ++
      of("load", operator.loadTimes, lately.loads)

  private def of(what: String, all: Histogram, lately: RecentTimes): Seq[(String, Double)] =
    Seq(
      s"$what.count" -> all.count.toDouble,
      s"$what.totalMs" -> all.sumNanos / 1e6
    ) ++ Shares.flatMap { case (name, share) =>
      lately.recorded.atMostMs(share).map(ms => s"$what.$name" -> ms.toDouble)
    }

  /** The figures of one store. Only operators with several in a partition, such as joins, have the store's name there. */
  private def ofPartition(store: StoreStatus): Seq[(String, Double)] = {
    val name =
      if (store.label.name == StateStoreId.DEFAULT_STORE_NAME) ""
      else s"${nameOf(store.label.name)}."
    shown(Series.of(store)).map { case (figure, value) =>
      s"partition${store.label.partition}.$name$figure" -> value
    }
  }

  /** What one operator's stores lately took. */
  private final case class Times(commits: RecentTimes, loads: RecentTimes) {
    def next(operator: OperatorStatus, now: Long): Times =
      Times(commits.next(operator.commitTimes, now), loads.next(operator.loadTimes, now))
  }

  private object Times {
    val Empty: Times = Times(RecentTimes.Empty, RecentTimes.Empty)
  }

  /** A query's name as one part of a metric's: what sinks make folders or fields of is left out. */
  def nameOf(query: String): String = query.replaceAll("[^A-Za-z0-9_-]", "_")
}
