package io.bucketstate.spark

import org.apache.spark.sql.execution.streaming.state.{
  SparkConditions,
  StateStoreId,
  StateStoreIterator,
  UnsafeRowPair
}

import io.bucketstate.spark.StoreLifecycle._
import io.bucketstate.store.{ReadSession, WriterLock}

/**
 * A version opened for reading. It shares the table with the writer and with other readers; the version
 * it reads stays as it is until `release` or `abort`.
 *
 * @param session ended when the version is no longer read
 */
private[bucketstate] final class BucketedReadStore(
    id: StateStoreId,
    families: FamilyViews,
    validator: RowValidator,
    val session: ReadSession
) extends StoreView(id, session.version, families, validator) {

  override protected def readAt: Long = version

  // Spark's state reader makes a map of keys that come one after the other, as they do from RocksDB.
  override protected def all(view: FamilyView): StateStoreIterator[UnsafeRowPair] =
    if (view.keys.scansPrefixes) checked(view.byPrefix(readAt)) else super.all(view)

  override protected def requireOpen(): Unit =
    // Spark's RocksDB provider gives readers a stamp, and this error when it was given back.
    if (state ne Updating) throw SparkConditions.invalidStamp(version, WriterLock.Free)

  override def abort(): Unit = end(Abort)

  override def release(): Unit = end(Release)

  def isOpen: Boolean = state eq Updating

  /** Ends the store if it is still open, as the end of its task does. */
  def endIfOpen(): Unit = if (isOpen) end(Release)

  private def end(operation: Operation): Unit = synchronized {
    // Ending twice is no error, whichever way: a task's listeners and its operator may both do it.
    if (state eq Updating) {
      state = StoreLifecycle.next(state, operation)
      session.end()
    }
  }

  override def toString: String = s"BucketedReadStore[$id, version=$version]"
}
