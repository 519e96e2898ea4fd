package io.bucketstate.spark

import org.apache.spark.sql.execution.streaming.state.StateStoreConf

/** What Spark 4.1 has settings for and Spark 4.0 does not do, whatever they say. */
private[spark] final class MaintenanceSettings(@annotation.unused conf: StateStoreConf) {

  /** How many versions are deleted at a time. */
  def mostToDelete: Int = -1

  def unloadsOnCommit: Boolean = false

  def reportsCommits: Boolean = false

  def reportsSnapshots: Boolean = false
}
