package io.bucketstate.spark

import org.apache.spark.sql.execution.streaming.state.StateStoreConf

/** Spark's settings of what is to be done about a snapshot that is damaged. */
private[spark] final class SnapshotRepair(conf: StateStoreConf) {
  def enabled: Boolean = conf.autoSnapshotRepairEnabled

  def afterFailures: Int = conf.autoSnapshotRepairNumFailuresBeforeActivating

  def maxChangelogs: Int = conf.autoSnapshotRepairMaxChangeFileReplay
}
