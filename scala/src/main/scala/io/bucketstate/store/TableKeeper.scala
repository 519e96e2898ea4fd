package io.bucketstate.store

import java.util.UUID
import java.util.concurrent.atomic.AtomicBoolean

import scala.annotation.tailrec
import scala.collection.mutable

import io.bucketstate.background.Patience
import io.bucketstate.checkpoint.io.Attempt
import io.bucketstate.checkpoint.records.BucketSource
import io.bucketstate.checkpoint.recovery.Recovered
import io.bucketstate.history.{CommitPoint, StoreHistory, Unwritten}
import io.bucketstate.record.ColdState
import io.bucketstate.table.StateTable

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
 * Keeps the one table of a store in memory, and its history together with it; decides for each version asked for whether
 * it is there, can be had by undoing newer ones, or must be loaded, and knows who reads what, so that nobody's version is
 * pulled away.
 *
 * Memory is a cache of the checkpoint: `forget` is always safe, and whatever goes wrong with the table ends in it.
 * Thread-safe. Two tasks that need the same version load it once, without the lock: the second waits for the first
 * until it is killed or has waited too long, and loads it itself then.
 *
 * @param history  of the table, changed here alone
 * @param now      seconds since 1970
 * @param patience of whoever waits for another task's load
 * @param reloaded told of what becomes the table, before anybody can open a version of it
 */
private[store] final class TableKeeper(
    load: (Long, Option[String]) => Recovered,
    history: StoreHistory,
    versionsInMemory: Int,
    now: () => Long,
    patience: Patience,
    reloaded: Recovered => Unit
) {
  import TableKeeper._

  @volatile private[this] var table: StateTable = _ // changed with the lock held
  private[this] var doubted: StateTable = _ // a table that no version is opened from any more
  private[this] var loading: Load = _ // what becomes the table; there is none meanwhile
  private[this] val readers = mutable.HashMap.empty[Long, Int]
  private[this] var floor = -1L // the highest version the table was told of
  private[this] var written = 0L // no later version has a changelog, as far as it is known here
  private[this] val dropped = new DroppedTables

  /** Opens `version` for writing the next one; the caller holds the writer's lock. */
  @tailrec
  def openForWrite(version: Long, checkpointId: Option[String]): Opened = {
    val wanted = new Load(version, checkpointId, isForWriting = true)
    val opened = opening(wanted)(inMemoryToWrite(wanted))(begin(_, version))
    // What was loaded was forgotten meanwhile: it may be of files that are others now.
    if (isKept(opened)) opened else openForWrite(version, checkpointId)
  }

  private def inMemoryToWrite(wanted: Load): Option[Opened] = {
    import wanted.version
    // A task that ended without its abort having run must not leave its changes to the next one.
    if (table != null) table.abort()
    if (!holds(version, wanted.checkpointId)) None
    else if (table.newest == version) Some(Opened.Hit(table, commitOf(version)))
    else if (readers.keysIterator.exists(_ > version)) None
    else {
      table.rollBackTo(version)
      history.undoAbove(version)
      floor = Math.min(floor, version)
      Some(Opened.Reopened(table, commitOf(version)))
    }
  }

  private def begin(opened: Opened, version: Long): Unit = if (isKept(opened)) {
    val wanted = version - Math.max(0, versionsInMemory - 2)
    opened.table.begin(readers.keysIterator.foldLeft(wanted)(Math.min), now())
    history.settle(opened.table.oldest)
  }

  private def isKept(opened: Opened): Boolean = opened match {
    case Opened.Reloaded(_, isKept) => isKept
    case _                          => true
  }

  /**
   * Opens `version` for reading until [[endRead]]. A version newer than memory, or another attempt's
   * of memory's newest, becomes the table, since the same task writes it next, unless somebody is
   * writing the one that is there. Any other version that is not in memory is loaded for this reader
   * alone.
   */
  def openForRead(version: Long, checkpointId: Option[String]): Opened = {
    val wanted = new Load(version, checkpointId, isForWriting = false)
    opening(wanted) {
      Option.when(holds(version, checkpointId))(Opened.Hit(table, commitOf(version)))
    } { opened =>
      if (isKept(opened)) register(version) else dropped.add(opened.table, readers = 1)
    }
  }

  /** A table that is read until [[endRead]], and that no version is opened from. */
  def reading(alone: StateTable): Unit = synchronized(dropped.add(alone, readers = 1))

  def endRead(from: StateTable, version: Long): Unit = synchronized {
    if (from eq table) {
      readers.updateWith(version)(_.map(_ - 1).filter(_ > 0))
      ()
    } else dropped.endRead(from)
  }

  /**
   * @param inMemory what memory has of what is wanted; asked with the lock held
   * @param use      called with what is opened, with the lock held
   */
  private def opening(
      wanted: Load
  )(inMemory: => Option[Opened])(use: Opened => Unit): Opened = {
    val there = synchronized {
      val found = awaited(wanted)(inMemory)
      found.foreach(use)
      if (found.isEmpty && becomesTable(wanted)) {
        forget()
        loading = wanted
      }
      found
    }
    there.getOrElse(loaded(wanted)(use))
  }

  /** Waits for another task's load of the very same. */
  private def awaited(wanted: Load)(inMemory: => Option[Opened]): Option[Opened] = {
    val start = patience.ticker.nanos
    def isWorthIt = loading != null && loading.isOf(wanted) &&
      patience.ticker.millisSince(start) < patience.limitMs
    var found = inMemory
    while (found.isEmpty && isWorthIt) {
      wait(Patience.PollMs)
      patience.requireAlive()
      found = inMemory
    }
    found
  }

  private def becomesTable(wanted: Load): Boolean =
    wanted.isForWriting || (
      if (loading != null) !loading.isForWriting && wanted.version >= loading.version
      else
        table == null || !table.isSound || (wanted.version >= table.newest && !table.isOpen)
    )

  private def loaded(wanted: Load)(use: Opened => Unit): Opened =
    try {
      val recovered = load(wanted.version, wanted.checkpointId)
      synchronized {
        val isTable = loading eq wanted
        if (isTable) keep(recovered, wanted)
        val opened = Opened.Reloaded(recovered, isTable)
        use(opened)
        opened
      }
    } catch {
      case failure: Throwable =>
        synchronized(if (loading eq wanted) forget())
        throw failure
    }

  /** Whoever waits for it sees it when all that follows from it has been done. */
  private def keep(recovered: Recovered, wanted: Load): Unit = {
    reloaded(recovered)
    history.begin(recovered, wanted.checkpointId, keysOf(recovered.table))
    written = recovered.writtenUpTo
    table = recovered.table
    loading = null
    notifyAll()
  }

  /** Which commit a version in memory is of; None for the empty store. */
  def commitOf(version: Long): Option[UUID] =
    history.line.flatMap(_.at(version)).flatMap(_.point.commitId)

  /**
   * The highest version that may have a changelog: later ones had none when the table was loaded. One that is higher than
   * memory's is of an attempt that came to nothing, which the next one replaces.
   */
  def writtenUpTo: Long = synchronized(written)

  /**
   * The open version of a table is durable.
   *
   * @param changes that led to it, for whoever follows the history
   */
  def committed(
      changed: StateTable,
      commitId: UUID,
      checkpointId: Option[String],
      changes: Option[Unwritten] = None
  ): Unit =
    orForgotten(changed) {
      changed.commit()
      written = Math.max(written, changed.newest)
      if (changed eq table) {
        val attempt = Attempt(changed.newest, checkpointId)
        history.committed(
          attempt,
          commitId,
          keysOf(changed),
          changes,
          changed.oldest,
          needless = floor
        )
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

  /** The state at a commit lies outside memory, too, written down by a follower of the history. */
  def advance(to: CommitPoint, cold: ColdState): Boolean = advance(to.version, _ == to, cold)

  private def advance(version: Long, isIt: CommitPoint => Boolean, cold: ColdState): Boolean =
    synchronized {
      val isOurs = table != null && table.isSound && cold.version == version &&
        version <= table.newest &&
        history.line.flatMap(_.at(version)).filter(step => isIt(step.point)).exists { step =>
          step.keys.forall { case (family, keys) => cold.keyCount(family).forall(_ == keys) }
        }
      val isTaken = isOurs && table.advance(cold)
      if (isTaken) floor = version
      isTaken
    }

  /** What a table that is written or read may read from beside memory. */
  def coldParts: Seq[ColdState] = synchronized {
    Option(table).toSeq.flatMap(_.coldParts) ++ dropped.coldParts
  }

  def aborted(changed: StateTable): Unit = orForgotten(changed)(changed.abort())

  /** Somebody may still change the table: it is not handed out again. */
  def abandoned(changed: StateTable): Unit = synchronized {
    if (changed eq table) forget()
  }

  /** A table that was left half way, by whatever, is not handed out again. */
  private def orForgotten(changed: StateTable)(change: => Unit): Unit = synchronized {
    try change
    catch {
      case failure: Throwable =>
        if (changed eq table) forget()
        throw failure
    }
  }

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
        val ended = new AtomicBoolean
        val release = () => if (ended.compareAndSet(false, true)) endRead(held, version.version)
        val source = new MemorySource(held.familiesAt(version.version), version.version)
        register(version.version)
        source -> release
      }
    }

  /** Calls with the table as its writer, if there is one and nobody writes it. */
  def whenIdle(use: StateTable => Unit): Unit = synchronized {
    if (table != null && table.isSound && !table.isOpen) use(table)
  }

  /** Heap of the table, and of others that are read, an estimate. Never waits. */
  def memoryBytes: Long = Option(table).fold(0L)(_.memoryBytes) + dropped.memoryBytes

  /** Whether all of it is in memory. */
  def isResident: Boolean = synchronized(table != null && table.isSound && table.isResident)

  /** Whether the table is being made, or a part of it still lies in files only. */
  def isLoading: Boolean =
    synchronized(loading != null || (table != null && table.isSound && !table.isLoaded))

  /**
   * The files lead to another state than the table's: the next version asked for is loaded from them. A task that has one
   * open goes on with it, as on another executor.
   */
  def doubt(): Unit = synchronized { doubted = table }

  /**
   * Drops the table, and what is being loaded: the next version asked for is loaded anew. Open readers keep theirs.
   */
  def forget(): Unit = synchronized {
    val last = table
    val lastReaders = readers.values.sum
    table = null
    doubted = null
    loading = null
    floor = -1L
    readers.clear()
    history.forget()
    notifyAll()
    if (last != null) {
      last.abandon()
      dropped.add(last, lastReaders)
    }
  }

  /**
   * Whether that version is in memory, and of that attempt. Its own id vouches for all versions under
   * it, because the table was built on them.
   */
  private def holds(version: Long, checkpointId: Option[String]): Boolean =
    table != null && (table ne doubted) && table.isSound &&
      table.oldest <= version && version <= table.newest &&
      history.line.flatMap(_.at(version)).exists(_.point.attempt.checkpointId == checkpointId)

  private def register(version: Long): Unit = {
    readers.updateWith(version)(n => Some(n.getOrElse(0) + 1))
    ()
  }
}

private object TableKeeper {

  /** A version that is to be loaded, by one task. */
  private final class Load(
      val version: Long,
      val checkpointId: Option[String],
      val isForWriting: Boolean
  ) {
    def isOf(other: Load): Boolean =
      version == other.version && checkpointId == other.checkpointId
  }

  private def keysOf(table: StateTable): Map[Int, Long] =
    table.families.iterator.flatMap(f => f.keyCount.map(f.spec.id -> _)).toMap
}
