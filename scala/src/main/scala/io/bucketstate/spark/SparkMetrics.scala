package io.bucketstate.spark

import org.apache.spark.sql.execution.streaming.state._

import io.bucketstate.config.{MetricKey, MetricKind}

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

  /**
   * Spark's form of a store's figures; keys that are not given are 0.
   *
   * @param snapshot the version of the newest snapshot that was made, -1 if there was none
   */
  def of(
      id: StateStoreId,
      keys: Long,
      memoryBytes: Long,
      values: Map[MetricKey, Long],
      snapshot: Long = -1L
  ): StateStoreMetrics =
    StateStoreMetrics(
      keys,
      memoryBytes,
      MetricKey.all.map(key => byKey(key) -> values.getOrElse(key, 0L)).toMap,
      Map(lastSnapshot.withNewId(id.partitionId, id.storeName) -> snapshot)
    )
}
