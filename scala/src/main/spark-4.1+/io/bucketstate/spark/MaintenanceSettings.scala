package io.bucketstate.spark

import org.apache.spark.sql.execution.streaming.state.StateStoreConf

/** Spark's settings of what is done after a commit. */
private[spark] final class MaintenanceSettings(conf: StateStoreConf) {

  /** How many versions are deleted at a time. */
  def mostToDelete: Int = conf.maxVersionsToDeletePerMaintenance

  def unloadsOnCommit: Boolean = conf.unloadOnCommit

  def reportsCommits: Boolean = conf.commitValidationEnabled

  def reportsSnapshots: Boolean = conf.reportSnapshotUploadLag
}
