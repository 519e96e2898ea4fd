package io.bucketstate.store

import java.util.UUID

import io.bucketstate.checkpoint.io.Attempt
import io.bucketstate.config.MetricKey
import io.bucketstate.error.ConflictException
import io.bucketstate.history.{CheckpointIds, Unwritten}
import io.bucketstate.rocksdb.follower.StoreDatabase
import io.bucketstate.table.StateTable

/** The parts of a store that hear of a commit, in this order. */
private[bucketstate] final case class AfterCommit(
    database: Option[StoreDatabase],
    snapshots: StoreSnapshots,
    warmUp: WarmUp,
    memory: StoreMemory
)

/**
 * How a store's open versions become durable or are undone, and who hears of it: the table's keeper, the
 * database, the snapshots, the warm-up, memory. One per store, used by one writer at a time.
 *
 * @param takeSnapshots whether a snapshot that is due is made inside commit
 */
private[bucketstate] final class Commits(
    keeper: TableKeeper,
    committer: Committer,
    after: AfterCommit,
    takeSnapshots: Boolean,
    newId: () => UUID
) {

  import after.{database, memory, snapshots, warmUp}

  /**
   * Makes the table's open version durable.
   *
   * @param base   the version it builds on
   * @param commit which commit of that is in the table
   * @param ids    that the version gets, unless it turns out to be an attempt that has some
   */
  def commit(
      table: StateTable,
      ids: CheckpointIds,
      base: Attempt,
      commit: Option[UUID]
  ): Committed = {
    val due = if (takeSnapshots) snapshots.due(base) else None
    try {
      val committed = publish(table, ids, commit)
      due.foreach(snapshots.run)
      committed
    } finally due.foreach(snapshots.giveUp)
  }

  private def publish(
      table: StateTable,
      ids: CheckpointIds,
      base: Option[UUID]
  ): Committed = {
    val changes = table.openChanges
    val committed =
      try
        committer.commit(
          changes,
          ids,
          newId(),
          base,
          mayReplace = keeper.mayBeWritten(changes.version),
          hasNext = keeper.mayBeWritten(changes.version + 1)
        )
      catch {
        // The next attempt looks anew at what is there.
        case e: ConflictException =>
          keeper.forget()
          throw e
      }
    try {
      val own = committed.ids.own
      val kept = database.map { _ =>
        val attempt = Attempt(changes.version, own)
        new Unwritten.Changes(changes, attempt, committed.commitId, Commits.heapOf(committed))
      }
      keeper.committed(table, committed.commitId, own, kept)
      database.foreach(_.wake())
      snapshots.checkpointed(table.newest, committed.bytes)
      warmUp.again(table)
      memory.committed(table)
      committed
    } catch {
      // The file is there, and whoever was not told of it does not go on from what it knows.
      case failure: Throwable =>
        keeper.forget()
        throw failure
    }
  }

  /** Undoes the table's open version. */
  def abort(table: StateTable): Unit = keeper.aborted(table)

  /** What the open version builds on is not what it should be: the next one is loaded from the files. */
  def dropMemory(): Unit = keeper.forget()

  /** Makes a snapshot of the table's newest version because the writer must have it. */
  def force(table: StateTable, ids: CheckpointIds): Unit =
    snapshots.force(Attempt(table.newest, ids.own))
}

private object Commits {

  /** About the heap that the changes of a version take while they are kept: files are compressed. */
  private def heapOf(of: Committed): Long =
    2 * of.bytes + EntrySize * of.figures(MetricKey.ChangedKeys)

  private final val EntrySize = 64L
}
