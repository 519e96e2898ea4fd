package io.bucketstate.spark

import org.apache.spark.sql.execution.streaming.state._

/** Spark's traits of a provider. */
private[bucketstate] trait SparkProvider extends StateStoreProvider with SupportsFineGrainedReplay {

  /**
   * What Spark's maintenance threads call, never `doMaintenance`: that is for a provider that is unloaded. The other
   * half, `doSnapshotMaintenance`, has nothing to do: snapshots are made beside the batches.
   */
  override def doCleanupMaintenance(): Unit = doMaintenance()
}

/** Spark's trait of a store that is read. */
private[spark] trait SparkReadStore extends ReadStateStore

/** Spark's trait of a store that is written. */
private[spark] trait SparkWriteStore extends StateStore

/** Spark's trait of a metric. */
private[spark] trait SparkMetric extends StateStoreCustomMetric
