package io.bucketstate.spark

import org.apache.spark.sql.execution.streaming.state._

/** Spark 4.0 has no metrics of single stores. */
private[bucketstate] trait InstanceMetrics extends StateStoreProvider

private[spark] object InstanceMetrics {

  /** All metrics of a store, the version of its last snapshot left out. */
  def complete(
      metrics: StateStoreMetrics,
      @annotation.unused store: StateStoreId,
      @annotation.unused snapshot: Long
  ): StateStoreMetrics = metrics
}
