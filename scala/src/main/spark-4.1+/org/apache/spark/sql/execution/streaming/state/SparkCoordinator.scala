package org.apache.spark.sql.execution.streaming.state

import java.util.UUID

import org.apache.hadoop.conf.Configuration

/** What Spark hears on its driver of stores. */
object SparkCoordinator {

  /** Tells of a commit, for Spark to see that none is missing. */
  def reportCommit(store: StateStoreId, version: Long, conf: Configuration): Unit =
    StateStore.reportCommitToCoordinator(version, store, conf)

  /** Tells the driver's coordinator of a new snapshot, which watches for stores that lag behind. */
  def reportSnapshot(store: StateStoreId, runId: UUID, version: Long, millis: Long): Unit =
    StateStoreProvider.coordinatorRef.foreach(
      _.snapshotUploaded(StateStoreProviderId(store, runId), version, millis)
    )

  /** Makes the driver's coordinator forget the stores of a run: Spark's maintenance unloads what it does not know. */
  def deactivate(run: UUID): Unit =
    StateStoreProvider.coordinatorRef.foreach(_.deactivateInstances(run))
}
