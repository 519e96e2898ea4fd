package io.bucketstate.plugin

import io.bucketstate.config.MetricKey
import io.bucketstate.plugin.status.{ExecutorStatus, Histogram}

/**
 * What all executors have told, in Prometheus's text format: with labels for application, query, operator and
 * partition, which Spark's own servlet writes into the names of its metrics.
 *
 * @param application id of the application
 */
private[plugin] final class PrometheusText(application: String) {
  import PrometheusText._

  def apply(board: DriverBoard): String = {
    val operators = board.operators
    val lines =
      board.executors.flatMap(ofExecutor) ++ operators.flatMap(ofOperator) ++
        (if (board.hasPartitions) operators.flatMap(ofPartitions) else Nil)
    val text = new StringBuilder
    // All lines of a metric have to stand together.
    lines.groupBy(_.family).toSeq.sortBy(_._1.name).foreach { case (family, its) =>
      text ++= s"# HELP ${family.name} ${escapedDoc(family.doc)}\n# TYPE ${family.name} ${family.kind}\n"
      its.foreach(line => text ++= line.text)
    }
    text.result()
  }

  private def ofExecutor(executor: ExecutorStatus): Seq[Line] = {
    val labels = Seq("application" -> application, "executor" -> executor.executor)
    Series.of(executor).map(Line(_, labels))
  }

  private def ofOperator(view: OperatorView): Seq[Line] = {
    val labels = labelsOf(view)
    val figures = Series.of(view.stores.map(_._2), view.status)
    val failures = ExecutorBoard.Kinds.map { kind =>
      Line(Failures, labels :+ ("kind" -> kind), view.status.failures.getOrElse(kind, 0L).toDouble)
    }
    val times = Seq(
      ("commit_seconds", "how long commits took", view.status.commitTimes),
      ("load_seconds", "how long loads of the checkpoint took", view.status.loadTimes)
    )
    val lines =
      if (view.isRunning) figures.map(Line(_, labels)) ++ failures
      // How an ended run stood is over, and what never happened to it would only make a scrape long.
      else (figures.filter(_.isTotal).map(Line(_, labels)) ++ failures).filter(_.value != 0)
    lines ++ times
      .filter { case (_, _, took) => view.isRunning || took.count > 0 }
      .flatMap { case (name, doc, took) => histogram(name, doc, labels, took) }
  }

  private def ofPartitions(view: OperatorView): Seq[Line] =
    view.stores.flatMap { case (executor, store) =>
      val labels = labelsOf(view) ++ Seq(
        "partition" -> store.label.partition.toString,
        "store" -> store.label.name,
        "executor" -> executor
      )
      Series.of(store).map { one =>
        Line(one.copy(name = one.name.replace(MetricKey.PrometheusPrefix, Partition)), labels)
      }
    }

  private def labelsOf(view: OperatorView): Seq[(String, String)] = Seq(
    "application" -> application,
    "query" -> view.query.name,
    "operator" -> view.operator.toString
  )
}

private[plugin] object PrometheusText {
  val ContentType = "text/plain; version=0.0.4"

  /** What names of single partitions begin with, so that sums over a metric count nothing twice. */
  private val Partition = s"${MetricKey.PrometheusPrefix}partition_"

  private final case class Family(name: String, doc: String, kind: String)

  private val Failures = Family(
    s"${MetricKey.PrometheusPrefix}failures_total",
    "versions that could not be opened, read or committed",
    "counter"
  )

  private final case class Line(
      family: Family,
      labels: Seq[(String, String)],
      value: Double,
      suffix: String = ""
  ) {
    def text: String = {
      val named = labels.map { case (key, value) => s"""$key="${escaped(value)}"""" }
      s"${family.name}$suffix${named.mkString("{", ",", "}")} ${shown(value)}\n"
    }
  }

  private object Line {
    def apply(one: Series, labels: Seq[(String, String)]): Line =
      Line(
        Family(one.name, one.doc, if (one.isTotal) "counter" else "gauge"),
        labels,
        one.value * one.unit
      )
  }

  private def histogram(
      name: String,
      doc: String,
      labels: Seq[(String, String)],
      histogram: Histogram
  ): Seq[Line] = {
    val family = Family(MetricKey.PrometheusPrefix + name, doc, "histogram")
    val bounds = Histogram.BoundsMs.map(ms => shown(ms / 1e3)) :+ "+Inf"
    val upTo = histogram.counts.scanLeft(0L)(_ + _).tail
    bounds.zip(upTo).map { case (bound, n) =>
      Line(family, labels :+ ("le" -> bound), n.toDouble, "_bucket")
    } ++ Seq(
      Line(family, labels, histogram.sumNanos / 1e9, "_sum"),
      Line(family, labels, histogram.count.toDouble, "_count")
    )
  }

  private def shown(value: Double): String =
    if (value == value.toLong.toDouble) value.toLong.toString else value.toString

  private def escaped(value: String): String =
    value.replace("\\", "\\\\").replace("\"", "\\\"").replace("\n", "\\n")

  private def escapedDoc(doc: String): String = doc.replace("\\", "\\\\").replace("\n", "\\n")
}
