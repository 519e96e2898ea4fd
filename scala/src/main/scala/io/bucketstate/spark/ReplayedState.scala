package io.bucketstate.spark

import org.apache.spark.sql.execution.streaming.state._

import io.bucketstate.history.CheckpointIds
import io.bucketstate.store.{ReadSession, StoreFigures, WriteSession}
import io.bucketstate.table.StateTable
import io.bucketstate.watch.WatchedStore

/**
 * A state replayed for the state reader, in a table of its own that nothing else uses. Spark may ask for
 * it as a write store; what is written to it can be read and aborted, but never committed: it is a view
 * of the past, beside which the query may be running.
 */
private[bucketstate] final class ReplayedState(
    id: StateStoreId,
    read: ReadSession,
    viewsAt: Long => FamilyViews,
    validator: RowValidator
) {
  private[this] val replayed = read.table

  def forRead: ReadStateStore =
    new BucketedReadStore(id, viewsAt(replayed.newest), validator, read)

  def forWrite: StateStore = {
    val version = replayed.newest
    replayed.begin(keepFrom = version)
    new BucketedStateStore(
      id,
      version,
      viewsAt(version + 1),
      validator,
      Session,
      WatchedStore.nobodys,
      refusal = None
    )
  }

  private object Session extends WriteSession {

    override def table: StateTable = replayed

    override def commit(): StoreFigures = throw StateStoreErrors.unsupportedOperationException(
      "commit of a replayed state",
      SparkErrors.Provider
    )

    override def abort(): Unit = table.abort()

    /** Nobody else has this table. */
    override def abandon(): Unit = ()

    override def current: StoreFigures = StoreFigures.of(table, _ => None, besides = 0L)

    override val ids: CheckpointIds = CheckpointIds(None, None)

    override def verify(): Unit = ()

    override def isCurrent: Boolean = true

    override def end(): Unit = read.end()
  }
}
