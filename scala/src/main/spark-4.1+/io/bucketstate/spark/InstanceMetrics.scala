package io.bucketstate.spark

import org.apache.spark.sql.execution.streaming.state._

/** The metrics of single stores among those of their operator. */
private[bucketstate] trait InstanceMetrics extends StateStoreProvider {
  override final def supportedInstanceMetrics: Seq[StateStoreInstanceMetric] =
    Seq(InstanceMetrics.lastSnapshot)
}

private[spark] object InstanceMetrics {
  private val lastSnapshot = StateStoreSnapshotLastUploadInstanceMetric()

  /** All metrics of a store, with the version of its last snapshot. */
  def complete(
      metrics: StateStoreMetrics,
      store: StateStoreId,
      snapshot: Long
  ): StateStoreMetrics =
    metrics.copy(instanceMetrics =
      Map(lastSnapshot.withNewId(store.partitionId, store.storeName) -> snapshot)
    )
}
