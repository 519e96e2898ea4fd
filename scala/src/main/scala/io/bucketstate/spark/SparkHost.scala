package io.bucketstate.spark

import java.nio.file.Path
import java.time.Clock

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{Path => HadoopPath}
import org.apache.spark.TaskContext
import org.apache.spark.sql.execution.streaming.state.{
  HeapOfState,
  SparkConditions,
  SparkCoordinator,
  SparkInternals,
  StateStoreConf,
  StateStoreId
}

import io.bucketstate.background.Ticker
import io.bucketstate.checkpoint.io.{Attempt, FileStores}
import io.bucketstate.checkpoint.retention.{Savepoints, StoreOfQuery}
import io.bucketstate.checkpoint.snapshot.FamilySchemas
import io.bucketstate.store.{StillHeld, StoreCall, StoreHost, StoreMemory}

/**
 * Spark as the program that a store is part of: its tasks, error classes, local folders, and the driver's
 * coordinators. Thread-safe.
 */
private[spark] final class SparkHost(
    id: StateStoreId,
    conf: StateStoreConf,
    hadoopConf: Configuration,
    registry: FamilyRegistry,
    validator: RowValidator,
    objectStores: Set[String],
    clock: Clock
) extends StoreHost {
  import SparkHost._
  private[this] val maintenance = new MaintenanceSettings(conf)
  HeapOfState.tell(() => StoreMemory.Tracker.total)

  override def name: String = id.toString

  override def cannotLoad(cause: Throwable): Throwable = SparkErrors.cannotLoad(id, cause)

  override def schemasOf(family: String): Option[FamilySchemas] = registry.of(family).map(_.json)

  /** Spark's own regions are for execution and storage; the rest is for user code, and state is that. */
  override def spareableHeap: Long = SparkInternals.userMemory

  override def newFolder(): Path = SparkInternals.newLocalFolder().toPath

  override def foldersLike(own: Path): Seq[Path] = SparkInternals.foldersLike(own)

  override def isOfBatch: Boolean = SparkInternals.isOfBatch(hadoopConf)

  override def restored(): Unit = validator.expectRestored()

  override def committed(version: Long): Unit =
    if (maintenance.reportsCommits) SparkCoordinator.reportCommit(id, version, hadoopConf)

  override def held(since: Long): Seq[Attempt] = savepointsOf(id).toSeq.flatMap { folder =>
    val store = StoreOfQuery(id.operatorId, id.partitionId, id.storeName)
    savepoints
      .of(folder.toString)
      .asOf(since)(FileStores.forFolder(folder, hadoopConf, objectStores))
      .map(_.of(store))
      .toSeq
      .distinct
  }

  override def snapshotMade(version: Long): Unit =
    if (maintenance.reportsSnapshots) {
      SparkInternals
        .runId(hadoopConf)
        .foreach(SparkCoordinator.reportSnapshot(id, _, version, clock.millis()))
    }

  override def task: Option[String] = Option(TaskContext.get()).map { context =>
    s"partition ${context.partitionId()}.${context.attemptNumber()} in stage " +
      s"${context.stageId()}.${context.stageAttemptNumber()}, TID ${context.taskAttemptId()}"
  }

  override def requireAlive(): Unit = Option(TaskContext.get()).foreach { context =>
    if (context.isInterrupted()) {
      throw new InterruptedException(
        s"task ${context.taskAttemptId()} was killed while it waited for $id"
      )
    }
  }

  override def stillHeld(wait: StillHeld): Throwable = SparkInternals.storeStillHeld(
    name,
    wait.call.verb,
    wait.wantedBy,
    wait.heldBy,
    wait.waitedMs,
    wait.stack
  )

  override def invalidStamp(stamp: Long, current: Long): Throwable =
    SparkConditions.invalidStamp(stamp, current)

  /** In the words of Spark's RocksDB provider: the state that the call would have led to. */
  override def closed(call: StoreCall): Throwable = {
    val wanted = call match {
      case StoreCall.Load        => "ACQUIRED"
      case StoreCall.Maintenance => "MAINTENANCE"
      case StoreCall.Close       => "CLOSED"
    }
    SparkConditions.invalidTransition("CLOSED", wanted, call.verb, id)
  }
}

private object SparkHost {

  /** What this process has listed: its stores have the system's ticker. */
  private val savepoints = new Savepoints.OfCheckpoints(() => Ticker.System.nanos)

  /** Beside the folder with all of a query's state; None where that is a root, which no checkpoint is. */
  private def savepointsOf(id: StateStoreId): Option[HadoopPath] =
    Option(new HadoopPath(id.checkpointRootLocation).getParent)
      .map(new HadoopPath(_, Savepoints.Folder))
}
