package io.bucketstate.store

import java.lang.ref.WeakReference
import java.util.UUID
import java.util.concurrent.atomic.AtomicBoolean

import scala.collection.mutable

import io.bucketstate.checkpoint.io.Attempt
import io.bucketstate.checkpoint.records.BucketSource
import io.bucketstate.checkpoint.recovery.Recovered
import io.bucketstate.table.{ColdState, StateTable}

/** How a version came to be in memory. */
private[bucketstate] sealed trait Opened {
  def table: StateTable

  /** Which commit of the version it is; None for the empty store. */
  def commitId: Option[UUID]
}
private[bucketstate] object Opened {
  final case class Hit(table: StateTable, commitId: Option[UUID]) extends Opened
  final case class Reopened(table: StateTable, commitId: Option[UUID]) extends Opened

  /** @param isKept whether it is what versions are opened from now; else it is for one reader alone */
  final case class Reloaded(recovered: Recovered, isKept: Boolean) extends Opened {
    override def table: StateTable = recovered.table
    override def commitId: Option[UUID] = recovered.commitId
  }
}

/**
 * Keeps the one table of a store in memory, and its history together with it; decides for each version asked for whether it is there, can
 * be had by undoing newer ones, or must be loaded, and knows who reads what, so that nobody's version is
 * pulled away.
 *
 * Memory is a cache of the checkpoint: `forget` is always safe. Thread-safe; loading the table holds the
 * lock, so two tasks that need the same version load it once.
 *
 * @param history  of the table, changed here alone
 * @param now      seconds since 1970
 * @param reloaded told of each table that is kept, before anybody else has it; must not wait
 */
private[store] final class TableKeeper(
    load: (Long, Option[String]) => Recovered,
    history: StoreHistory,
    versionsInMemory: Int,
    now: () => Long,
    reloaded: Recovered => Unit
) {
  import TableKeeper._

  @volatile private[this] var table: StateTable = _ // changed with the lock held
  private[this] val readers = mutable.HashMap.empty[Long, Int]
  private[this] var floor = -1L // the highest version the table was told of
  private[this] var writtenUpTo = 0L // no later version has a changelog, as far as it is known here
  private[this] var dropped =
    List.empty[WeakReference[StateTable]] // that somebody may still read

  /** Opens `version` for writing the next one; the caller holds the writer's lock. */
  def openForWrite(version: Long, checkpointId: Option[String]): Opened = synchronized {
    // A task that ended without its abort having run must not leave its changes to the next one.
    if (table != null) table.abort()
    val opened =
      if (!holds(version, checkpointId)) reload(version, checkpointId)
      else if (table.newest == version) Opened.Hit(table, commitOf(version))
      else if (readers.keysIterator.exists(_ > version)) reload(version, checkpointId)
      else {
        table.rollBackTo(version)
        history.undoAbove(version)
        floor = Math.min(floor, version)
        Opened.Reopened(table, commitOf(version))
      }
    val wanted = version - Math.max(0, versionsInMemory - 2)
    opened.table.begin(readers.keysIterator.foldLeft(wanted)(Math.min), now())
    history.settle(opened.table.oldest)
    opened
  }

  /**
   * Opens `version` for reading until [[endRead]]. A version newer than memory, or another attempt's
   * of memory's newest, becomes the table, since the same task writes it next, unless somebody is
   * writing the one that is there. Any other version that is not in memory is loaded for this reader
   * alone, without holding the lock.
   */
  def openForRead(version: Long, checkpointId: Option[String]): Opened =
    synchronized {
      if (holds(version, checkpointId))
        Some(register(Opened.Hit(table, commitOf(version)), version))
      else if (table == null || !table.isSound || (version >= table.newest && !table.isOpen)) {
        Some(register(reload(version, checkpointId), version))
      } else None
    }.getOrElse {
      val recovered = load(version, checkpointId)
      synchronized(dropped ::= new WeakReference(recovered.table))
      Opened.Reloaded(recovered, isKept = false)
    }

  def endRead(from: StateTable, version: Long): Unit = synchronized {
    if (from eq table) {
      readers.updateWith(version)(_.map(_ - 1).filter(_ > 0))
      ()
    }
  }

  /** Which commit a version in memory is of; None for the empty store. */
  def commitOf(version: Long): Option[UUID] =
    history.line.flatMap(_.at(version)).flatMap(_.point.commitId)

  /** Whether a version may have a changelog: of an attempt that came to nothing, which the next one replaces. */
  def mayBeWritten(version: Long): Boolean = synchronized(version <= writtenUpTo)

  /**
   * The open version of `in` is durable.
   *
   * @param changes that led to it, for who follows the history
   */
  def committed(
      in: StateTable,
      commitId: UUID,
      checkpointId: Option[String],
      changes: Option[Unwritten] = None
  ): Unit =
    synchronized {
      in.commit()
      writtenUpTo = Math.max(writtenUpTo, in.newest)
      if (in eq table) {
        // What is counted of a version is told long after it, and of use where the number is an estimate.
        val needless = if (in.families.exists(_.isEstimated)) -1L else floor
        val attempt = Attempt(in.newest, checkpointId)
        history.committed(attempt, commitId, keysOf(in), changes, in.oldest, needless)
      }
    }

  /**
   * The state at a version lies outside memory, too. Nothing comes of it if the table was not made of that commit, or
   * knows of a newer one.
   *
   * @param commitId of the version
   * @return whether the table reads from it, now or later
   */
  def advance(version: Attempt, commitId: Option[UUID], cold: ColdState): Boolean =
    advance(version.version, _.isOf(version, commitId), cold)

  /** The same, of what was written down by following the history. */
  def advance(to: CommitPoint, cold: ColdState): Boolean = advance(to.version, _ == to, cold)

  private def advance(version: Long, isIt: CommitPoint => Boolean, cold: ColdState): Boolean =
    synchronized {
      val isOurs = table != null && table.isSound && cold.version == version &&
        version <= table.newest && stepAt(version, isIt).exists { step =>
          step.keys.forall { case (family, keys) =>
            cold.isEstimated(family) || cold.keyCount(family) == keys
          }
        }
      val isTaken = isOurs && table.advance(cold)
      if (isTaken) floor = version
      isTaken
    }

  /** The keys of families at a version were counted. Nothing comes of it if the table was not made of that commit. */
  def counted(version: Attempt, commitId: Option[UUID], keys: Map[Int, Long]): Unit =
    synchronized {
      if (table != null && version.version <= table.newest) {
        stepAt(version.version, _.isOf(version, commitId))
          .foreach(_ => table.counted(version.version, keys))
      }
    }

  private def stepAt(version: Long, isIt: CommitPoint => Boolean): Option[LineStep] =
    history.line.flatMap(_.at(version)).filter(step => isIt(step.point))

  /** What a table that is written or read may read from beside memory. */
  def coldParts: Seq[ColdState] = synchronized {
    dropped = dropped.filter(_.get != null)
    Option(table).toSeq.flatMap(_.coldParts) ++
      dropped.flatMap(t => Option(t.get)).flatMap(_.coldParts)
  }

  def aborted(in: StateTable): Unit = synchronized(in.abort())

  /**
   * The whole state at a version, if all of it is in memory and of that commit, and what to call when it
   * has been read: until then nothing above that version settles. O(1).
   */
  def capture(version: Attempt, commitId: Option[UUID]): Option[(BucketSource, () => Unit)] =
    synchronized {
      val isThere = holds(version.version, version.checkpointId) &&
        commitOf(version.version) == commitId && table.isResident
      Option.when(isThere) {
        val held = table
        register(version.version)
        val ended = new AtomicBoolean
        val release = () => if (ended.compareAndSet(false, true)) endRead(held, version.version)
        BucketSource.ofState(held.familiesAt(version.version), version.version) -> release
      }
    }

  /** Calls with the table as its writer, if there is one and nobody writes it. */
  def whenIdle(use: StateTable => Unit): Unit = synchronized {
    if (table != null && table.isSound && !table.isOpen) use(table)
  }

  /** Heap of the table, an estimate; 0 if there is none. Never waits. */
  def memoryBytes: Long = Option(table).fold(0L)(_.memoryBytes)

  /** Whether all of it is in memory. */
  def isResident: Boolean = synchronized(table != null && table.isSound && table.isResident)

  /** Whether a part of the table still lies in files only. */
  def isLoading: Boolean = synchronized(table != null && table.isSound && !table.isLoaded)

  /** Drops the table: the next version asked for is loaded. Open readers keep theirs. */
  def forget(): Unit = synchronized {
    if (table != null) {
      table.abandon()
      if (table.coldParts.nonEmpty) dropped ::= new WeakReference(table)
    }
    table = null
    floor = -1L
    readers.clear()
    history.forget()
  }

  /**
   * Whether that version is in memory, and of that attempt. Its own id vouches for all versions under
   * it, because the table was built on them.
   */
  private def holds(version: Long, checkpointId: Option[String]): Boolean =
    table != null && table.isSound && table.oldest <= version && version <= table.newest &&
      history.line.flatMap(_.at(version)).exists(_.point.attempt.checkpointId == checkpointId)

  private def reload(version: Long, checkpointId: Option[String]): Opened = {
    forget()
    val recovered = load(version, checkpointId)
    reloaded(recovered)
    table = recovered.table
    writtenUpTo = recovered.writtenUpTo
    history.begin(recovered, checkpointId, keysOf(table))
    Opened.Reloaded(recovered, isKept = true)
  }

  private def register(opened: Opened, version: Long): Opened = {
    register(version)
    opened
  }

  private def register(version: Long): Unit = {
    readers.updateWith(version)(n => Some(n.getOrElse(0) + 1))
    ()
  }
}

private object TableKeeper {

  private def keysOf(table: StateTable): Map[Int, Long] =
    table.families.iterator.filterNot(_.isEstimated).map(f => f.spec.id -> f.keyCount).toMap
}
