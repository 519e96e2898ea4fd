package io.bucketstate.spark

import org.apache.spark.SparkContext
import org.apache.spark.sql.execution.metric.SQLMetric
import org.apache.spark.sql.execution.streaming.state._

import io.bucketstate.config.{MetricKey, MetricKind, MetricType}
import io.bucketstate.store.StoreFigures

/** The registry of metrics as Spark's custom metrics. */
private[bucketstate] object SparkMetrics {

  private val byKey: Map[MetricKey, StateStoreCustomMetric] = MetricKey.all.map { key =>
    val metric = key.kind match {
      case MetricKind.Sum    => StateStoreCustomSumMetric(key.name, key.doc)
      case MetricKind.Size   => StateStoreCustomSizeMetric(key.name, key.doc)
      case MetricKind.Timing => StateStoreCustomTimingMetric(key.name, key.doc)
    }
    key -> (key.metricType match {
      case MetricType.Counter => metric
      case MetricType.Gauge   => GaugeMetric(metric)
    })
  }.toMap

  /** In the registry's order. */
  val supported: Seq[StateStoreCustomMetric] = MetricKey.all.map(byKey)

  /** Spark's form of a store's figures. */
  def of(id: StateStoreId, figures: StoreFigures): StateStoreMetrics =
    InstanceMetrics.complete(
      StateStoreMetrics(
        figures.keys,
        figures.memoryBytes,
        MetricKey.all.map(key => byKey(key) -> figures.values.getOrElse(key, 0L)).toMap
      ),
      id,
      figures.snapshot
    )
}

/** A metric of how things stand: what a batch told of it holds until the next one, also where triggers have no batch. */
private[spark] final case class GaugeMetric(metric: StateStoreCustomMetric) extends SparkMetric {
  override def name: String = metric.name

  override def desc: String = metric.desc

  override def withNewDesc(desc: String): GaugeMetric = GaugeMetric(metric.withNewDesc(desc))

  override def createSQLMetric(context: SparkContext): SQLMetric = metric.createSQLMetric(context)

  override def isSnapshot: Boolean = true
}
