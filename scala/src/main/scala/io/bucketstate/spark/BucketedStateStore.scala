package io.bucketstate.spark

import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.execution.streaming.state._
import org.apache.spark.sql.types.StructType

import io.bucketstate.spark.StoreLifecycle._
import io.bucketstate.store.{StoreFigures, WriteSession}
import io.bucketstate.watch.{CommitReport, WatchedStore}

/**
 * A version opened for writing: changes become version + 1 when they are committed. For one thread at a time, as
 * Spark uses it.
 *
 * Spark feeds Python, and serves the state that Python asks for, in threads beside the task's, and ends a task that was
 * killed without waiting for them. A thread that calls after the end fails. One that is in the middle of a call then, such
 * as in a read from storage, goes on, and what it changes comes later than anything that is undone. So the end of a store
 * that other threads have called leaves its table to them, and the next attempt loads another.
 *
 * @param refusal why nothing may be committed
 */
private[spark] final class BucketedStateStore(
    id: StateStoreId,
    version: Long,
    families: FamilyViews,
    validator: RowValidator,
    session: WriteSession,
    watched: WatchedStore,
    refusal: Option[Throwable]
) extends StoreView(id, version, families, validator)
    with SparkWriteStore {
  import BucketedStateStore._

  private[this] val newVersion = version + 1
  private[this] val opener = Thread.currentThread
  // Volatile, as the state is: either another thread finds the end, or whoever ends it finds that there was another.
  @volatile private[this] var isShared = false
  private[this] var figures: StateStoreMetrics = _

  override protected def readAt: Long = newVersion

  override protected def requireOpen(): Unit = {
    if (Thread.currentThread ne opener) share()
    if ((state ne Updating) || !session.isCurrent) {
      session.verify()
      StoreLifecycle.next(state, Update)
      ()
    }
  }

  private def share(): Unit = if (!isShared) isShared = true

  override def put(key: UnsafeRow, value: UnsafeRow, colFamilyName: String): Unit = {
    requireOpen()
    requireKey(key)
    require(value != null, "Cannot put a null value")
    families.of(colFamilyName, "put").put(key, value)
  }

  override def remove(key: UnsafeRow, colFamilyName: String): Unit = {
    requireOpen()
    requireKey(key)
    families.of(colFamilyName, "remove").remove(key)
  }

  override def deleteRange(
      beginKey: UnsafeRow,
      endKey: UnsafeRow,
      colFamilyName: String
  ): Unit = {
    requireOpen()
    verify(beginKey != null, "Begin key cannot be null")
    verify(endKey != null, "End key cannot be null")
    val view = families.of(colFamilyName, "deleteRange")
    verify(
      view.keys.removesRanges,
      "deleteRange requires a RangeKeyScanStateEncoderSpec for ordered key encoding"
    )
    view.removeRange(beginKey, endKey)
  }

  override def putList(key: UnsafeRow, values: Array[UnsafeRow], colFamilyName: String): Unit = {
    requireOpen()
    requireKey(key)
    requireList(values, "put")
    val view = families.of(colFamilyName, "put")
    verify(view.schema.multiValued, s"Multi-value put operation requires an encoder$Several")
    view.putAll(key, values)
  }

  override def merge(key: UnsafeRow, value: UnsafeRow, colFamilyName: String): Unit = {
    requireOpen()
    val view = mergeable(colFamilyName)
    requireKey(key)
    require(value != null, "Cannot merge a null value")
    view.merge(key, value)
  }

  override def mergeList(key: UnsafeRow, values: Array[UnsafeRow], colFamilyName: String): Unit = {
    requireOpen()
    val view = mergeable(colFamilyName)
    requireKey(key)
    requireList(values, "merge")
    view.mergeAll(key, values)
  }

  private def mergeable(colFamilyName: String): FamilyView = {
    val view = families.of(colFamilyName, "merge")
    verify(view.schema.multiValued, s"Merge operation requires an encoder$Several")
    view
  }

  private def requireList(values: Array[UnsafeRow], verb: String): Unit = {
    require(values != null, s"Cannot $verb a null value")
    values.foreach(value => require(value != null, s"Cannot $verb a null value in the array"))
  }

  override def commit(): Long = synchronized {
    StoreLifecycle.next(state, Commit)
    try {
      session.verify()
      refusal.foreach(throw _)
      figures = SparkMetrics.of(id, watched.committing(session.commit())(reportOf))
      state = Committed
      session.end()
      newVersion
    } catch {
      case failure: Throwable => throw SparkInternals.failedToCommit(toString, failure)
    }
  }

  private def reportOf(done: StoreFigures, nanos: Long): CommitReport =
    CommitReport(newVersion, nanos, done.keys, done.memoryBytes, done.values)

  override def abort(): Unit = synchronized {
    val next = StoreLifecycle.next(state, Abort)
    if (state ne Aborted) {
      session.verify()
      state = next
      if (Thread.currentThread ne opener) share()
      try {
        if (isShared) session.abandon() else session.abort()
        figures = SparkMetrics.of(id, session.current)
      } finally session.end()
    }
  }

  /** Whether it is neither committed nor undone, and no later task has the store. */
  def isOpen: Boolean = (state eq Updating) && session.isCurrent

  /**
   * What the end of the task does to a store that is still open. It may come while the task's own
   * thread is in `abort` or `commit`; whoever is second finds nothing to do.
   */
  def abortIfOpen(): Unit = synchronized {
    if (isOpen) abort()
  }

  override def hasCommitted: Boolean = state eq Committed

  /** Before the end, how things stand; after it, what was done. */
  override def metrics: StateStoreMetrics =
    if (state eq Updating) SparkMetrics.of(id, session.current) else figures

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
  ): Unit = {
    requireOpen()
    families.create(
      FamilySchema(
        colFamilyName,
        keySchema,
        valueSchema,
        keyStateEncoderSpec,
        useMultipleValuesPerKey,
        isInternal,
        families.schemas
      )
    )
  }

  override def removeColFamilyIfExists(colFamilyName: String): Boolean = {
    requireOpen()
    families.remove(colFamilyName)
  }

  override def toString: String = s"BucketedStateStore[$id, version=$version]"
}

private object BucketedStateStore {
  private val Several = " which supports multiple values for a single key"
}
