package io.bucketstate.spark

import org.apache.spark.sql.execution.streaming.state._

import io.bucketstate.config.{MetricKey, MetricKind}
import io.bucketstate.store.StoreFigures

/** The registry of metrics as Spark's custom metrics. */
private[bucketstate] object SparkMetrics {

  private val byKey: Map[MetricKey, StateStoreCustomMetric] = MetricKey.all.map { key =>
    key -> (key.kind match {
      case MetricKind.Sum    => StateStoreCustomSumMetric(key.name, key.doc)
      case MetricKind.Size   => StateStoreCustomSizeMetric(key.name, key.doc)
      case MetricKind.Timing => StateStoreCustomTimingMetric(key.name, key.doc)
    })
  }.toMap

  /** In the registry's order. */
  val supported: Seq[StateStoreCustomMetric] = MetricKey.all.map(byKey)

  private val lastSnapshot = StateStoreSnapshotLastUploadInstanceMetric()

  val supportedInstances: Seq[StateStoreInstanceMetric] = Seq(lastSnapshot)

  /** Spark's form of a store's figures. */
  def of(id: StateStoreId, figures: StoreFigures): StateStoreMetrics =
    StateStoreMetrics(
      figures.keys,
      figures.memoryBytes,
      MetricKey.all.map(key => byKey(key) -> figures.values.getOrElse(key, 0L)).toMap,
      Map(lastSnapshot.withNewId(id.partitionId, id.storeName) -> figures.snapshot)
    )
}
