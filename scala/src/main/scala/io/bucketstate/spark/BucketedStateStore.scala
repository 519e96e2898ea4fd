package io.bucketstate.spark

import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.execution.streaming.state._
import org.apache.spark.sql.types.StructType

import io.bucketstate.spark.StoreLifecycle._

/** What a write store needs of its provider. */
private[spark] trait WriteSession {

  /** Makes the open changes durable; returns the figures of the store as they are then. */
  def commit(): StateStoreMetrics

  /** Undoes the open changes. */
  def abort(): Unit

  /** The figures of a store that ended without a commit. */
  def metrics: StateStoreMetrics

  /** Names the version that is being made, and the one it builds on. */
  def ids: CheckpointIds

  /** Throws when another task has taken the store over. */
  def verify(): Unit

  /** Whether this task still holds the store; cheap. */
  def isCurrent: Boolean

  /** Lets go of the store; again is no error. */
  def end(): Unit
}

/**
 * A version opened for writing: changes become version + 1 when they are committed. For one thread, as
 * Spark uses it; a second thread that still runs for a killed task loses its stamp and fails.
 */
private[spark] final class BucketedStateStore(
    id: StateStoreId,
    version: Long,
    family: FamilyView,
    validator: RowValidator,
    session: WriteSession
) extends StoreView(id, version, family, validator)
    with StateStore {
  private[this] val newVersion = version + 1
  private[this] var figures: StateStoreMetrics = _

  override protected def readAt: Long = newVersion

  override protected def requireOpen(): Unit =
    if ((state ne Updating) || !session.isCurrent) {
      StoreLifecycle.next(state, Update)
      session.verify()
    }

  override def put(key: UnsafeRow, value: UnsafeRow, colFamilyName: String): Unit = {
    requireOpen()
    requireKey(key)
    require(value != null, "Cannot put a null value")
    familyOf(colFamilyName, "put").put(key, value)
  }

  override def remove(key: UnsafeRow, colFamilyName: String): Unit = {
    requireOpen()
    requireKey(key)
    familyOf(colFamilyName, "remove").remove(key)
  }

  override def commit(): Long = synchronized {
    StoreLifecycle.next(state, Commit)
    try {
      session.verify()
      figures = session.commit()
      state = Committed
      session.end()
      newVersion
    } catch {
      case failure: Throwable => throw SparkInternals.failedToCommit(toString, failure)
    }
  }

  override def abort(): Unit = synchronized {
    val next = StoreLifecycle.next(state, Abort)
    if (state ne Aborted) {
      session.verify()
      state = next
      try {
        session.abort()
        figures = session.metrics
      } finally session.end()
    }
  }

  /**
   * What the end of the task does to a store that is still open. It may come while the task's own
   * thread is in `abort` or `commit`; whoever is second finds nothing to do.
   */
  def abortIfOpen(): Unit = synchronized {
    if ((state eq Updating) && session.isCurrent) abort()
  }

  override def hasCommitted: Boolean = state eq Committed

  override def metrics: StateStoreMetrics = {
    StoreLifecycle.next(state, Metrics)
    figures
  }

  override def getStateStoreCheckpointInfo(): StateStoreCheckpointInfo = {
    if (!hasCommitted) {
      throw StateStoreErrors.stateStoreOperationOutOfOrder(
        "Cannot get checkpointInfo without committing the store"
      )
    }
    StateStoreCheckpointInfo(id.partitionId, newVersion, session.ids.own, session.ids.base)
  }

  override def createColFamilyIfAbsent(
      colFamilyName: String,
      keySchema: StructType,
      valueSchema: StructType,
      keyStateEncoderSpec: KeyStateEncoderSpec,
      useMultipleValuesPerKey: Boolean,
      isInternal: Boolean
  ): Unit = throw StateStoreErrors.multipleColumnFamiliesNotSupported(StoreView.Provider)

  override def removeColFamilyIfExists(colFamilyName: String): Boolean =
    throw StateStoreErrors.removingColumnFamiliesNotSupported(StoreView.Provider)

  override def putList(key: UnsafeRow, values: Array[UnsafeRow], colFamilyName: String): Unit =
    throw StoreView.oneValuePerKey("putList")

  override def merge(key: UnsafeRow, value: UnsafeRow, colFamilyName: String): Unit =
    throw StoreView.oneValuePerKey("merge")

  override def mergeList(key: UnsafeRow, values: Array[UnsafeRow], colFamilyName: String): Unit =
    throw StoreView.oneValuePerKey("mergeList")

  override def toString: String = s"BucketedStateStore[$id, version=$version]"
}
