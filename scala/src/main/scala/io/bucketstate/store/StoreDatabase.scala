package io.bucketstate.store

import java.util.UUID

import org.slf4j.LoggerFactory

import io.bucketstate.checkpoint.io.Attempt
import io.bucketstate.checkpoint.manifest.{Checkpoint, Manifest}
import io.bucketstate.checkpoint.recovery.Recovered
import io.bucketstate.config.{ConfigKey, MetricKey}
import io.bucketstate.error.{ConflictException, MissingException, UnavailableException}
import io.bucketstate.rocksdb.{
  ExecutorNative,
  ExpiredEntries,
  NativeFigures,
  NativeState,
  StateDatabase,
  WrittenVersion
}
import io.bucketstate.table.StateTable

/**
 * The local database of one store, which follows its table: begins with a snapshot's runs, and then takes over version
 * after version in the background, once they cannot be undone any more. What it has, the table need not keep.
 *
 * It is a cache of the checkpoint. When anything goes wrong with it the next batch is told, which then begins from the
 * checkpoint, with another database. Thread-safe.
 *
 * @param offer      hands its state to the table; false if that cannot use it
 * @param mostBehind bytes of changes that may wait to be written down before a batch waits for them
 * @param waitMs     how long it waits
 */
private[bucketstate] final class StoreDatabase(
    checkpoint: Checkpoint,
    databases: DatabaseSource,
    offer: NativeState => Boolean,
    mostBehind: Long,
    waitMs: Long,
    ticker: Ticker,
    threads: NeediestFirst
) {
  import StoreDatabase._
  import checkpoint.{assigner, store}

  private[this] val log = LoggerFactory.getLogger(classOf[StoreDatabase])
  private[this] val unwritten = new WriteQueue
  private[this] var seed = Option.empty[Manifest] // what is below them, None for the empty store
  private[this] var commits = Map.empty[Attempt, UUID] // that the table was restored over
  private[this] var newest = Option.empty[Manifest] // that was published
  private[this] var settled = -1L // versions up to this one cannot be undone
  private[this] var database: StateDatabase = _ // null until it holds what `written` says
  private[this] var written: WrittenVersion = _
  private[this] var expired: ExpiredEntries = _ // of the database
  private[this] var table = 0 // how many there were
  private[this] var base = 0L // version that the table began with
  private[this] var offered = -1L // version that it was given last
  private[this] var left = -1L // version of the newest snapshot for which it left a local state
  private[this] var isBegun = false // since the table was restored
  private[this] var atWork = false
  private[this] var failure = Option.empty[Throwable]
  private[this] var isUsed = false // the table reads from it
  private[this] var retired = List.empty[StateDatabase] // that somebody may still read
  private[this] var closed = false
  @volatile private[this] var sampled = NativeFigures.None
  private[this] var told = NativeFigures.None

  /** The store has loaded its table anew. */
  def restored(recovered: Recovered): Unit = {
    val unread = synchronized {
      table += 1
      failure = None
      seed = recovered.manifest
      newest = None
      left = -1L
      unwritten.restart(recovered.tail.map(new Unwritten.Replayed(_, checkpoint)))
      commits = commitsOf(recovered)
      base = recovered.table.newest
      settled = base
      offered = -1L
      isUsed = false
      val isOurs = database != null && !atWork && !database.hasFailed &&
        written.commitId.exists(id => commits.get(written.attempt).contains(id))
      if (isOurs) unwritten.written(written.version)
      // Not before the first commit, unless it is there: the first batch is to have the machine for itself.
      isBegun = isOurs
      val unread = if (isOurs) None else giveUp()
      // The files of what failed may be what fills the disk. Whoever still reads them is told to try again.
      val (spent, kept) = retired.partition(_.hasFailed)
      retired = kept
      spent ++ unread
    }
    unread.foreach(databases.discard)
  }

  /** A version is durable. Never waits. */
  def committed(version: Unwritten): Unit = synchronized {
    isBegun = true
    unwritten.add(version)
    begin()
  }

  /**
   * A version is opened for writing the next one. Throws what went wrong since the last time, so that the task fails and
   * its retry begins from the checkpoint; waits when too much waits to be written down.
   */
  def opened(in: StateTable, base: Long): Unit = {
    synchronized {
      failure.foreach { cause =>
        failure = None
        throw cause
      }
      unwritten.undoAbove(base)
      settled = math.max(settled, in.oldest)
      if (isBegun) begin()
    }
    awaitRoom()
  }

  /** A snapshot was published. */
  def published(manifest: Manifest): Unit = synchronized {
    newest = Some(manifest)
    if (isBegun) begin()
  }

  /** Whether the table reads what it does not hold from here. */
  def leads: Boolean = synchronized(isUsed)

  /** Its state, if it is at just that version now; to be released. */
  def stateAt(version: Attempt, commitId: Option[UUID]): Option[NativeState] = synchronized {
    Option.when(
      database != null && !atWork && written.attempt == version && written.commitId == commitId
    )(database.capture(written))
  }

  /** About the native memory that it takes, its part of what all share included. */
  def nativeBytes: Long =
    sampled.readerBytes + ExecutorNative.usedBytes / math.max(1, ExecutorNative.stores)

  /** Figures since the last call, and of now. Asks nothing of RocksDB: they are taken in the background. */
  def drainFigures(newest: Long): Map[MetricKey, Long] = synchronized {
    val now = sampled
    val since = now.since(told)
    told = now
    Map(
      MetricKey.DbLag -> math.max(0L, newest - (if (written == null) 0L else written.version)),
      MetricKey.DbCacheHits -> since.cacheHits,
      MetricKey.DbCacheMisses -> since.cacheMisses,
      MetricKey.DbFlushBytes -> since.flushBytes,
      MetricKey.DbCompactionBytes -> since.compactBytes,
      MetricKey.DbCompactionTime -> since.compactMillis,
      MetricKey.DbStallTime -> since.stallMillis,
      MetricKey.DbFileBytes -> now.fileBytes,
      MetricKey.DbFiles -> now.files,
      MetricKey.DbUnflushedBytes -> now.unflushedBytes,
      MetricKey.DbMemory -> nativeBytes
    )
  }

  def close(): Unit = {
    val left = synchronized {
      closed = true
      Option(database).foreach(_.endWrites())
      Uninterrupted.await(this, CloseMs, ticker)(!atWork)
      unwritten.restart(Nil)
      val all = retired ++ Option(database)
      retired = Nil
      database = null
      all
    }
    left.foreach(databases.discard)
    databases.close()
  }

  /**
   * What the changelogs that are there were made from. Where another attempt has replaced one of them since, a database
   * may hold the commit of a later one and yet something else.
   */
  private def commitsOf(recovered: Recovered): Map[Attempt, UUID] =
    if (recovered.replaced.nonEmpty) Map.empty
    else {
      val base = recovered.manifest.flatMap(m => m.commitId.map(m.attempt -> _))
      (base ++ recovered.tail.map(v => v.attempt -> v.commitId)).toMap
    }

  /** The next one begins anew. Gives the one there is, unless somebody may still read it. */
  private def giveUp(): Option[StateDatabase] = {
    val last = Option(database)
    database = null
    written = null
    isUsed = false
    sampled = NativeFigures.None
    told = NativeFigures.None
    // Who waits to write there is not to keep the next one from being begun.
    last.foreach(_.endWrites())
    // Its files may be theirs, too.
    if (last.exists(_.hasFailed)) databases.forget()
    val (read, unread) = last.partition(_.isRead)
    retired ++= read
    unread.headOption
  }

  /** Those that were given up and that nobody can read any more. */
  private def unread(): List[StateDatabase] = {
    val (kept, gone) = retired.partition(_.isRead)
    retired = kept
    gone
  }

  private def awaitRoom(): Unit = synchronized {
    val start = ticker.nanos
    while (unwritten.bytes > mostBehind && atWork && failure.isEmpty && !closed) {
      val left = waitMs - ticker.millisSince(start)
      if (left <= 0) throw stalled()
      wait(math.min(left, 100L))
    }
  }

  private def stalled() = new UnavailableException(
    store.location,
    s"${unwritten.bytes} bytes of changes wait to be written to the local RocksDB database, which has not caught up in $waitMs ms",
    s"Nothing is lost, and the task may succeed when it is tried again. If it does not, the local disk is full or too " +
      s"slow, or writes are stalled: set ${ConfigKey.LocalDir.key} to a faster disk, use more partitions, or " +
      s"${ConfigKey.Engine.key}=heap."
  )

  /** There is something to do, unless that is known already. */
  private def begin(): Unit = if (!atWork && !closed && failure.isEmpty && isDue) {
    atWork = true
    try threads.submit(() => need)(() => work())
    catch {
      case e @ (_: Exception | _: OutOfMemoryError) =>
        atWork = false
        log.warn(s"The local database of ${store.location} waits for a thread", e)
    }
  }

  private def isDue: Boolean =
    database == null || unwritten.hasUpTo(settled) || isToOffer || isToLeave ||
      retired.exists(!_.isRead)

  /** Whether the table can use what is there, and was not given it. */
  private def isToOffer: Boolean =
    written != null && written.version >= base && written.version > offered

  /** Whether there is a snapshot which is to leave a local state, too. */
  private def isToLeave: Boolean = databases.areLasting && newest.exists { manifest =>
    left < manifest.version && written != null && manifest.version <= written.version
  }

  /** Takes no lock: it is asked by who holds that of all waiting work. */
  private def need: Double = unwritten.bytes.toDouble / mostBehind

  private def work(): Unit = {
    var step = nextStep()
    while (step != null) {
      try step.run()
      catch {
        case e @ (_: Exception | _: LinkageError | _: OutOfMemoryError) => failed(e, step.of)
      }
      step = nextStep()
    }
  }

  /** What to do now; null, and the work has ended, if that is nothing. */
  private def nextStep(): Step = synchronized {
    if (closed || failure.isDefined || !isDue) {
      atWork = false
      notifyAll()
      null
    } else {
      val (of, from, into) = (table, seed, database)
      val gone = unread()
      if (gone.nonEmpty) new Step(of, () => gone.foreach(databases.discard))
      else if (into == null) new Step(of, () => start(from, of))
      else if (unwritten.hasUpTo(settled) || isToOffer) {
        val due = unwritten.upTo(settled)
        new Step(of, () => write(due, into, of))
      } else {
        val (manifest, version) = (newest.get.version, written)
        new Step(of, () => leave(manifest, version, into, of))
      }
    }
  }

  private def start(from: Option[Manifest], of: Int): Unit = {
    val (made, holds) = databases.begin(from, synchronized(commits), () => isCurrent(of))
    val isTaken = synchronized {
      val isOurs = isCurrent(of)
      if (isOurs) {
        database = made
        expired = new ExpiredEntries(made, assigner.numBuckets)
        written = holds
        unwritten.written(holds.version)
      }
      isOurs
    }
    if (!isTaken) databases.discard(made)
  }

  private def write(due: Seq[Unwritten], into: StateDatabase, of: Int): Unit = {
    due.foreach { version =>
      if (isCurrent(of)) {
        val now = version.writeTo(into)
        synchronized {
          if (isCurrent(of)) {
            written = now
            unwritten.written(now.version)
            notifyAll()
          }
        }
      }
    }
    val state = synchronized {
      Option.when(isCurrent(of) && isToOffer) {
        offered = written.version
        into.capture(written)
      }
    }
    state.foreach { now =>
      if (!offer(now)) now.release()
      else synchronized { if (isCurrent(of)) isUsed = true }
    }
    val sweeping = synchronized(Option.when(isCurrent(of))(expired -> written))
    sweeping.foreach { case (expired, version) => expired.some(version) }
    val figures = into.figures()
    synchronized { if (isCurrent(of)) sampled = figures }
  }

  private def leave(manifest: Long, version: WrittenVersion, of: StateDatabase, at: Int): Unit = {
    databases.leave(of, version)
    synchronized { if (isCurrent(at)) left = manifest }
  }

  private def isCurrent(of: Int): Boolean = synchronized(table == of && !closed)

  /** @param of the table for which it was tried; another one has another database */
  private def failed(cause: Throwable, of: Int): Unit = {
    val unread = synchronized {
      if (isCurrent(of)) {
        val isReplaced = cause match {
          case _: MissingException | _: ConflictException => beginAgain()
          case _                                          => false
        }
        if (!isReplaced) failure = Some(cause)
        val next =
          if (isReplaced) "it begins again from a newer snapshot"
          else "the next batch is told, and its retry makes another one of the checkpoint"
        log.warn(s"The local database of ${store.location} failed; $next", cause)
        giveUp()
      } else None
    }
    unread.foreach(databases.discard)
  }

  /** Where files are gone because a newer snapshot made them needless, that is what to begin with. */
  private def beginAgain(): Boolean = newest.exists { manifest =>
    val isNewer = manifest.version <= settled && seed.forall(_.version < manifest.version)
    val isOurs = unwritten.contains(manifest.attempt, manifest.commitId)
    if (isNewer && isOurs) {
      seed = newest
      unwritten.written(manifest.version)
    }
    isNewer && isOurs
  }
}

private object StoreDatabase {

  /** Longer than any step should take. */
  private final val CloseMs = 30000L

  /** @param of the number of the table that it is for */
  private final class Step(val of: Int, val run: () => Unit)
}
