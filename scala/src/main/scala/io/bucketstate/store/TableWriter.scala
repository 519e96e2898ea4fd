package io.bucketstate.store

import java.util.UUID

import io.bucketstate.checkpoint.io.Attempt
import io.bucketstate.config.MetricKey
import io.bucketstate.error.{ConflictException, CorruptException, MissingException}
import io.bucketstate.history.{CheckpointIds, Unwritten}
import io.bucketstate.table.StateTable

/**
 * A version opened for a writer.
 *
 * @param base          the version, as it was asked for
 * @param lineage       whether the version's file is still what memory was built from
 * @param writtenUpTo   the highest version that may have a changelog, as far as was known when it was opened
 * @param loadMs        how long the task waited until it was loaded; None if it was in memory
 * @param forceSnapshot whether the writer's own version must have a snapshot
 * @param begin         what a batch begins with, where it was not known at the opening that this is one
 */
private[bucketstate] final case class OpenedForWrite(
    opened: Opened,
    base: Attempt,
    ids: CheckpointIds,
    lineage: LineageCheck,
    writtenUpTo: Long,
    loadMs: Option[Long],
    forceSnapshot: Boolean,
    begin: Option[() => Unit]
)

/**
 * What one task does to the table and the files, while its stamp is the lock's current one: its version becomes durable or
 * is undone, and whoever goes on from it hears of that: the table's keeper, the database, the snapshots, the warm-up,
 * memory.
 */
private[bucketstate] final class TableWriter(
    version: OpenedForWrite,
    stamp: Long,
    parts: StoreParts,
    newId: () => UUID
) extends WriteSession {
  import TableWriter._
  import parts.{committer, database, figures, keeper, lock, memory, snapshots, warmUp}
  import version.opened

  private[this] val lazyLoadsBefore = table.lazyLoads
  @volatile private[this] var named = version.ids

  override def table: StateTable = opened.table

  override def ids: CheckpointIds = named

  override def commit(): StoreFigures = {
    requireBase()
    version.begin.foreach(_())
    // A snapshot that is due is made here where nothing is made in the background.
    val due = if (parts.config.snapshotsInCommit) snapshots.due(version.base) else None
    val own =
      try {
        val committed = publish()
        due.foreach(snapshots.run)
        committed
      } finally due.foreach(snapshots.giveUp)
    named = own.ids
    if (version.forceSnapshot) snapshots.force(Attempt(table.newest, ids.own))
    parts.host.committed(table.newest)
    figures.drain(table, own.figures ++ openingFigures ++ loadingFigures)
  }

  private def publish(): Committed = {
    val changes = table.openChanges
    val committed =
      try
        committer.commit(
          changes,
          ids,
          newId(),
          opened.commitId,
          version.writtenUpTo
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
        new Unwritten.Changes(changes, attempt, committed.commitId, heapOf(committed))
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

  override def abort(): Unit = keeper.aborted(table)

  override def abandon(): Unit = keeper.abandoned(table)

  override def current: StoreFigures = figures.current(table)

  override def verify(): Unit = lock.verify(stamp)

  override def isCurrent: Boolean = lock.isHeldBy(stamp)

  override def end(): Unit = lock.release(stamp)

  /** Throws unless what the changes build on is sound, and still the version that Spark means. */
  private def requireBase(): Unit =
    try {
      version.lineage.settle()
      table.requireVerified()
    } catch {
      // A read that failed says nothing of what is in memory. A table that is not sound is loaded anew.
      case e @ (_: ConflictException | _: MissingException | _: CorruptException) =>
        keeper.forget()
        throw e
    }

  private def loadingFigures: Map[MetricKey, Long] = Map(
    MetricKey.LazyLoads -> (table.lazyLoads - lazyLoadsBefore),
    MetricKey.ForcedSnapshots -> (if (version.forceSnapshot) 1L else 0L)
  )

  private def openingFigures: Map[MetricKey, Long] = (opened, version.loadMs) match {
    case (_, Some(ms))           => Map(MetricKey.TableReloads -> 1L, MetricKey.ReloadTime -> ms)
    case (_: Opened.Reopened, _) => Map(MetricKey.TableReopens -> 1L)
    case _                       => Map(MetricKey.TableHits -> 1L)
  }
}

private object TableWriter {

  /** About the heap that the changes of a version take while they are kept. */
  private def heapOf(commit: Committed): Long =
    commit.rawBytes + EntrySize * commit.figures(MetricKey.ChangedKeys)

  private final val EntrySize = 64L
}
