package io.bucketstate.plugin

import com.codahale.metrics.{Gauge, MetricRegistry}

import io.bucketstate.plugin.status.{ExecutorStatus, Histogram, OperatorStatus}
import io.bucketstate.watch.OperatorLabel

/**
 * The figures of one process in Spark's registry of metrics, which every sink of Spark reads. Those of a query
 * come with its name and go when it has ended. They are as of the last call of [[show]]. Thread-safe.
 */
private[plugin] final class ExecutorMetrics(registry: MetricRegistry) {
  import ExecutorMetrics._

  @volatile private[this] var values = Map.empty[String, Double]

  // Spark takes a plugin's registry for empty, and never looks again, unless something is in it from the start.
  ofProcess(ExecutorStatus.Empty).keys.foreach(add)

  /**
   * @param names  of the queries that run, by run
   * @param status how things stand
   */
  def show(names: Map[String, String], status: ExecutorStatus): Unit = synchronized {
    val stores = status.stores.groupBy(_.label.ofOperator)
    val counted = status.operators.map(operator => operator.label -> operator).toMap
    val next = ofProcess(status) ++ (stores.keySet ++ counted.keySet).flatMap { operator =>
      names.get(operator.run).toSeq.flatMap { name =>
        val series = Series.of(
          stores.getOrElse(operator, Nil),
          counted.getOrElse(operator, OperatorStatus.none(operator))
        )
        of(operator, name, series, counted.get(operator))
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
    Series.of(status).map(one => one.short -> one.value).toMap

  private def of(
      operator: OperatorLabel,
      query: String,
      series: Seq[Series],
      counted: Option[OperatorStatus]
  ): Seq[(String, Double)] = {
    val figures = series.map(one => one.short -> one.value) ++ counted.toSeq.flatMap { status =>
      ExecutorBoard.Kinds.map { kind =>
        s"failures.$kind" -> status.failures.getOrElse(kind, 0L).toDouble
      } ++ times("commit", status.commitTimes) ++ times("load", status.loadTimes)
    }
    figures.map { case (name, value) =>
      s"${nameOf(query)}.operator${operator.operator}.$name" -> value
    }
  }

  private def times(prefix: String, histogram: Histogram): Seq[(String, Double)] =
    Seq(
      s"$prefix.count" -> histogram.count.toDouble,
      s"$prefix.totalMs" -> histogram.sumNanos / 1e6
    ) ++ Shares.flatMap { case (name, share) =>
      histogram.atMostMs(share).map(ms => s"$prefix.$name" -> ms.toDouble)
    }

  /** A query's name as one part of a metric's: what sinks make folders or fields of is left out. */
  def nameOf(query: String): String = query.replaceAll("[^A-Za-z0-9_-]", "_")
}
