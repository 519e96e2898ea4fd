package io.bucketstate.rocksdb.follower

import java.util.UUID

import scala.util.control.NonFatal

import org.slf4j.LoggerFactory

import io.bucketstate.background.{NeediestFirst, Ticker, Uninterrupted}
import io.bucketstate.checkpoint.io.{Attempt, Closing}
import io.bucketstate.checkpoint.manifest.{Checkpoint, Manifest}
import io.bucketstate.config.MetricKey
import io.bucketstate.error.{
  ConflictException,
  CorruptException,
  MissingException,
  UnavailableException
}
import io.bucketstate.history.{CommitPoint, Follow, StoreHistory, StoreLine, Unwritten}
import io.bucketstate.rocksdb.follower.DatabaseState.{Absent, Event, Holding, Offered, Task}
import io.bucketstate.rocksdb.state.{ExpiredEntries, NativeState, StateDatabase, WrittenVersion}

/**
 * The local database of one store, which comes after its table: begins with a snapshot's runs, or with what an earlier one
 * left, and then takes over version after version in the background, once they cannot be undone any more. What it has, the
 * table need not keep.
 *
 * It knows the commit that it is at, and asks the store's history what follows; what does not follow is never written.
 * [[DatabaseState]] decides what is done, this does it.
 *
 * It is a cache of the checkpoint. When anything goes wrong with it the next batch is told, which then begins from the
 * checkpoint, with another database. Thread-safe.
 *
 * @param offer      hands its state at a commit to the table; false if that cannot use it
 * @param mostBehind bytes of changes of all stores that may wait to be written down before batches wait for them
 * @param waitMs     how long it waits
 */
private[bucketstate] final class StoreDatabase(
    history: StoreHistory,
    checkpoint: Checkpoint,
    databases: DatabaseSource,
    offer: (CommitPoint, NativeState) => Boolean,
    mostBehind: Long,
    waitMs: Long,
    ticker: Ticker,
    threads: NeediestFirst
) {
  import StoreDatabase._
  import checkpoint.{assigner, folder}

  private[this] val log = LoggerFactory.getLogger(classOf[StoreDatabase])
  private[this] var state: DatabaseState = Absent
  private[this] var local: Local = _ // there exactly while the state is `Holding`
  private[this] var retired = List.empty[StateDatabase] // that somebody may still read
  private[this] var atWork = false
  private[this] var isWoken = false // since the worker looked
  private[this] val figures = new DatabaseFigures

  /** There may be something to do. Never waits. */
  def wake(): Unit = synchronized {
    isWoken = true
    if (!atWork && state != DatabaseState.Closed && isDue) {
      atWork = true
      try threads.submit(() => need)(() => work())
      catch {
        case failure: Throwable =>
          atWork = false
          failure match {
            case _: Exception | _: OutOfMemoryError =>
              log.warn(s"The local database of ${folder.location} waits for a thread", failure)
            case _ => throw failure
          }
      }
    }
  }

  /**
   * A version is opened for writing the next one. Throws what went wrong with the database, so that the task fails and its
   * retry begins from the checkpoint; waits when too much waits to be written down.
   */
  def opened(): Unit = {
    synchronized {
      state match {
        case DatabaseState.Failed(on, cause) if history.line.exists(_.number == on) => throw cause
        case _                                                                      => wake()
      }
    }
    awaitRoom()
  }

  /**
   * The table was loaded anew: what failed before is deleted at once, because its files may be what fills the disk. Whoever
   * still reads there is told to try again.
   */
  def deleteFailed(): Unit = {
    val isToDrop = synchronized {
      val drops = !atWork && taskAfter(known(history.knownAfter(_))) == Task.Drop
      atWork |= drops
      drops
    }
    if (isToDrop)
      try drop()
      finally synchronized(rest())
    deleteSpent()
  }

  /** A snapshot was published. */
  def published(manifest: Manifest): Unit = {
    history.published(manifest)
    wake()
  }

  /** Whether the table reads what it does not hold from here. */
  def leads: Boolean = synchronized {
    state match {
      case Holding(_, _, _, Some(Offered(line, _, isTaken)), _) =>
        isTaken && history.line.exists(_.number == line)
      case _ => false
    }
  }

  /** Its state, if it is at just that commit of the table now; to be released. */
  def stateAt(version: Attempt, commitId: Option[UUID]): Option[NativeState] = synchronized {
    state match {
      case Holding(at, _, _, _, _)
          if !atWork && at.isOf(version, commitId) && history.line.exists(_.holds(at)) =>
        Some(local.capture())
      case _ => None
    }
  }

  /** About the native memory that it takes, its part of what all share included. */
  def nativeBytes: Long = figures.nativeBytes

  /** Figures since the last call, and of now. Asks nothing of RocksDB: they are taken in the background. */
  def drainFigures(newest: Long): Map[MetricKey, Long] = {
    val at = synchronized(if (local == null) begins else local.written.version)
    figures.drain(lag = math.max(0L, newest - at))
  }

  /** The version that a database which is not there yet begins at. */
  private def begins: Long = history.line.fold(0L) { line =>
    line.followed.getOrElse(line.newer.orElse(line.restored).fold(0L)(_.version))
  }

  /** Waits for what is being done. An interrupt does not end it, and is kept for whoever called. */
  def close(): Unit = Closing.all(
    Seq[AutoCloseable](
      () =>
        synchronized {
          become(Event.Close)
          if (local != null) local.database.endWrites()
        },
      () => synchronized { Uninterrupted.await(this, CloseMs, ticker)(!atWork); () },
      () => discard(takeAll()),
      () => databases.close()
    )
  )

  /** All that there are. */
  private def takeAll(): List[StateDatabase] = synchronized {
    retire()
    val all = retired
    retired = Nil
    all
  }

  private def become(event: Event): Unit = state = DatabaseState.after(state, event)

  private def awaitRoom(): Unit = synchronized {
    val start = ticker.nanos
    while (history.isOver(mostBehind) && atWork) {
      val left = waitMs - ticker.millisSince(start)
      if (left <= 0) {
        // A writer that waits within RocksDB must not keep the next database from being begun. One that waits for storage is
        // only slow, and its database is the one to go on with.
        if (local != null) local.database.endStoppedWrites()
        throw DatabaseFailures.stalled(folder.location, history.bytes, history.bytesOfAll, waitMs)
      }
      wait(math.min(left, 100L))
    }
  }

  private def isDue: Boolean = {
    val follow = known(history.knownAfter(_))
    follow == Follow.Earlier || taskAfter(follow) != Task.Rest || retired.exists(!_.isRead)
  }

  private def known(follow: CommitPoint => Follow): Follow = state match {
    case held: Holding => follow(held.at)
    case _             => Follow.Nothing
  }

  private def taskAfter(follow: Follow): Task =
    DatabaseState.next(state, history.line, follow, !hasFailed, databases.areLasting)

  private def hasFailed: Boolean = local != null && local.database.hasFailed

  /** Takes no lock: it is asked by whoever holds that of all waiting work. */
  private def need: Double = history.bytes.toDouble / mostBehind

  /** Whatever it ends with, it has ended, and the next batch goes on or is told why not. */
  private def work(): Unit =
    try while (workOnce()) ()
    catch {
      case failure: Throwable =>
        synchronized {
          become(Event.Broke(history.line.fold(0L)(_.number), failure))
          retire()
          rest()
        }
        log.warn(s"The local database of ${folder.location} failed", failure)
    }

  private def rest(): Unit = {
    atWork = false
    notifyAll()
  }

  /** Does what is due; false if that is nothing, and the work has ended. */
  private def workOnce(): Boolean = {
    val before = synchronized {
      isWoken = false
      state
    }
    var line = history.line
    try {
      deleteUnread()
      // May read from storage: no lock is held.
      val follow = before match {
        case held: Holding => history.after(held.at)
        case _             => Follow.Nothing
      }
      val (task, hasEnded) = synchronized {
        val asked = line
        line = history.line
        // What follows on one line says nothing of another one: it is asked again.
        val isAnswered = line.map(_.number) == asked.map(_.number)
        val isClosed = state == DatabaseState.Closed
        val task = if (isClosed || !isAnswered) Task.Rest else taskAfter(follow)
        val hasEnded = isClosed || task == Task.Rest && isAnswered && !isWoken
        if (hasEnded) atWork = false
        notifyAll()
        (task, hasEnded)
      }
      run(task)
      !hasEnded
    } catch {
      case failure: Throwable =>
        failed(failure, line)
        true
    }
  }

  private def run(task: Task): Unit = task match {
    case Task.Begin(seed, from, on) => begin(seed, from, on)
    case Task.Write(next, on)       => write(next, on)
    case Task.Offer(at, on)         => offerTo(on, at)
    case Task.Leave(snapshot)       => leave(snapshot)
    case Task.Drop                  => drop()
    case Task.Fail(at, on)          => throw DatabaseFailures.ended(local.database, at, on.newest)
    case Task.Rest                  => ()
  }

  private def begin(seed: Option[Manifest], from: CommitPoint, on: StoreLine): Unit = {
    synchronized(become(Event.Began(from, on.number)))
    // Its files may be what fills the disk.
    deleteSpent()
    val made = databases.begin(seed, leadsFrom(_), () => isWanted(from))
    val taken = synchronized {
      val taken = made.filter(_ => state != DatabaseState.Closed && isWanted(from))
      taken.fold(become(Event.Dropped)) { case (database, holds) =>
        val at =
          if (from.isOf(holds.attempt, holds.commitId)) from
          else CommitPoint(holds.attempt, holds.commitId)
        become(Event.Made(at, on.number, history.line.getOrElse(on).settled))
        val expired = new ExpiredEntries(assigner.numBuckets, database.remove(_, _)(_))
        expired.written(holds)
        local = new Local(database, expired, holds)
      }
      taken
    }
    if (taken.isEmpty) made.foreach { case (database, _) => databases.discard(database) }
  }

  /** Whether the store's history is known to lead on from a commit that was left. */
  private def leadsFrom(point: CommitPoint): Boolean =
    try history.leadsFrom(point)
    catch { case _: UnavailableException => false }

  private def isWanted(from: CommitPoint): Boolean =
    history.knownAfter(from) != Follow.Elsewhere && !isClosed

  private def isClosed: Boolean = synchronized(state == DatabaseState.Closed)

  private def write(next: Follow.Next, on: StoreLine): Unit = {
    val changes =
      next.step.changes.getOrElse(new Unwritten.Replayed(next.base, next.step.point, checkpoint))
    val own = local
    own.written = changes.writeTo(own.database)
    own.expired.written(own.written)
    synchronized(become(Event.Wrote(next, on.number)))
  }

  private def offerTo(on: StoreLine, at: CommitPoint): Unit = {
    val (captured, own) = synchronized((local.capture(), local))
    val isTaken = offer(at, captured)
    if (!isTaken) captured.release()
    synchronized {
      val settled = history.line.fold(at.version)(_.settled)
      become(Event.WasOffered(Offered(on.number, at, isTaken), settled))
    }
    own.expired.some()
    figures.sample(own.database.figures())
  }

  private def leave(snapshot: Attempt): Unit = {
    val own = local
    databases.leave(own.database, own.written, () => isClosed)
    synchronized(become(Event.Left(snapshot)))
  }

  private def drop(): Unit = giveUp(_ => Event.Dropped)

  /** @param on the line for which it was tried */
  private def failed(cause: Throwable, on: Option[StoreLine]): Unit = {
    val isGone = cause.isInstanceOf[MissingException] && hasNoCheckpoint
    val isBehind = synchronized(hasNewerSeed)
    giveUp { isOpen =>
      val isReplaced = isBehind && isOfFilesBefore(cause)
      if (isGone)
        log.info(s"The checkpoint ${folder.location} is gone, and its local database goes")
      else if (isOpen) {
        val next =
          if (isReplaced) "it begins again from a newer snapshot"
          else "the next batch is told, and its retry makes another one of the checkpoint"
        log.warn(s"The local database of ${folder.location} failed; $next", cause)
      }
      if (isReplaced) Event.Dropped else Event.Broke(on.fold(0L)(_.number), cause)
    }
    // What was left is no newer: it would lead the next one to the same place.
    if (isBehind && !isClosed) databases.forget()
  }

  /** Whether it is of files that a newer snapshot does without. */
  private def isOfFilesBefore(cause: Throwable): Boolean = cause match {
    case _: MissingException | _: ConflictException => true
    // Of a changelog: what RocksDB finds is told to those who read there, and a run may be a part of the newer snapshot.
    case _: CorruptException | _: UnavailableException => local != null && !hasFailed
    case _                                             => false
  }

  /** Somebody has deleted it: a query that has ended needs it no more. */
  private def hasNoCheckpoint: Boolean =
    try folder.list().isEmpty
    catch { case NonFatal(_) => false }

  /** The next one begins anew. */
  private def giveUp(what: Boolean => Event): Unit = {
    val (last, wasOpen) = synchronized {
      val isOpen = state != DatabaseState.Closed
      become(what(isOpen))
      (retire(), isOpen)
    }
    last.foreach { database =>
      database.endWrites()
      // Its files may be what was left, too. Writes of a store that is closed fail because they were ended.
      if (wasOpen && database.hasFailed) databases.forget()
    }
  }

  /** Nobody writes to the one that there was any more. */
  private def retire(): Option[StateDatabase] = {
    val last = Option(local).map(_.database)
    local = null
    figures.reset()
    retired ++= last
    last
  }

  /** Where files are gone because a newer snapshot made them needless, that is what to begin with. */
  private def hasNewerSeed: Boolean = history.line.flatMap(_.seed).exists { manifest =>
    state match {
      case DatabaseState.Beginning(from, _) => from.version < manifest.version
      case held: Holding                    => held.at.version < manifest.version
      case _                                => false
    }
  }

  private def deleteUnread(): Unit = deleteRetired(!_.isRead)

  /** Those of earlier lines that failed. */
  private def deleteSpent(): Unit = deleteRetired { database =>
    val isPast = state match {
      case DatabaseState.Failed(on, _) => history.line.exists(_.number != on)
      case _                           => true
    }
    database.hasFailed && isPast
  }

  private def discard(all: List[StateDatabase]): Unit =
    Closing.all(all.map[AutoCloseable](one => () => databases.discard(one)))

  private def deleteRetired(isOver: StateDatabase => Boolean): Unit = {
    val over = synchronized {
      val (gone, kept) = retired.partition(isOver)
      retired = kept
      gone
    }
    discard(over)
  }
}

private object StoreDatabase {

  /** Longer than any step should take. */
  private final val CloseMs = 30000L

  /** @param written what it holds */
  private final class Local(
      val database: StateDatabase,
      val expired: ExpiredEntries,
      var written: WrittenVersion
  ) {
    def capture(): NativeState = database.capture(written)
  }
}
