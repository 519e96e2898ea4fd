package org.apache.spark.sql.execution.streaming.state

import java.util.UUID

import org.apache.hadoop.conf.Configuration
import org.apache.spark.SparkEnv

/** What Spark 4.0 hears on its driver of stores: nothing of their commits and snapshots. */
object SparkCoordinator {

  def reportCommit(
      @annotation.unused store: StateStoreId,
      @annotation.unused version: Long,
      @annotation.unused conf: Configuration
  ): Unit = ()

  def reportSnapshot(
      @annotation.unused store: StateStoreId,
      @annotation.unused runId: UUID,
      @annotation.unused version: Long,
      @annotation.unused millis: Long
  ): Unit = ()

  /** Makes the driver's coordinator forget the stores of a run: Spark's maintenance unloads what it does not know. */
  def deactivate(run: UUID): Unit =
    Option(SparkEnv.get).foreach(StateStoreCoordinatorRef.forExecutor(_).deactivateInstances(run))
}
