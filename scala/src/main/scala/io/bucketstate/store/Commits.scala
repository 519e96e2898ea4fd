package io.bucketstate.store

import java.util.UUID

import io.bucketstate.checkpoint.io.Attempt
import io.bucketstate.config.MetricKey
import io.bucketstate.error.ConflictException
import io.bucketstate.table.StateTable

/** Who hears of a commit, in this order. */
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
   * @return the figures of the commit
   */
  def commit(
      table: StateTable,
      ids: CheckpointIds,
      base: Attempt,
      commit: Option[UUID]
  ): Map[MetricKey, Long] = {
    val due = if (takeSnapshots) snapshots.due(base) else None
    try {
      val figures = publish(table, ids, commit)
      due.foreach(snapshots.run)
      figures
    } finally due.foreach(snapshots.giveUp)
  }

  private def publish(
      table: StateTable,
      ids: CheckpointIds,
      base: Option[UUID]
  ): Map[MetricKey, Long] = {
    val commitId = newId()
    val changes = table.openChanges
    val figures =
      try committer.commit(changes, ids, commitId, base, keeper.mayBeWritten(changes.version))
      catch {
        // The next attempt looks anew at what is there.
        case e: ConflictException =>
          keeper.forget()
          throw e
      }
    val attempt = Attempt(changes.version, ids.own)
    val kept =
      database.map(_ => new Unwritten.Changes(changes, attempt, commitId, Commits.heapOf(figures)))
    keeper.committed(table, commitId, ids.own, kept)
    database.foreach(_.wake())
    snapshots.checkpointed(table.newest, figures(MetricKey.ChangelogBytes))
    warmUp.again(table)
    memory.committed(table)
    figures
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
  private def heapOf(figures: Map[MetricKey, Long]): Long =
    2 * figures(MetricKey.ChangelogBytes) + EntrySize * figures(MetricKey.ChangedKeys)

  private final val EntrySize = 64L
}
