package io.bucketstate.store

import java.util.UUID
import java.util.concurrent.atomic.AtomicLong

import io.bucketstate.background.ClocksAndIds
import io.bucketstate.checkpoint.changelog.{ChangeFeed, Changes}
import io.bucketstate.checkpoint.io.{Attempt, FileStore, ForeignFiles, ManifestName}
import io.bucketstate.checkpoint.records.KnownFamilies
import io.bucketstate.config.StoreConfig
import io.bucketstate.history.CheckpointIds
import io.bucketstate.record.BucketAssigner
import io.bucketstate.rocksdb.state.OptionsCheck
import io.bucketstate.table.StateTable

/**
 * One store of one query run: opens versions for tasks, one writer at a time, readers beside it, and
 * maintains its checkpoint.
 *
 * Memory is a cache of the checkpoint: whatever goes wrong here, the table is dropped and the next task
 * loads it. Thread-safe. What cannot be loaded is told in the host's words, all else in the project's own.
 *
 * Whatever it has of the process (a count in its memory, limits, threads, folders) it gets when it first needs it, and
 * gives back when it is closed: to make one takes nothing.
 *
 * @param files    the checkpoint's folder; closed with the store
 * @param families the column families that the query may have
 */
private[bucketstate] final class OpenStore private (
    files: FileStore,
    families: KnownFamilies,
    config: StoreConfig,
    origins: ClocksAndIds,
    host: StoreHost
) {
  import origins.{newId, ticker}

  /** There will be no later batch, and nothing to maintain any more. */
  @volatile private[this] var isLast = false

  private[this] val parts =
    new StoreParts(files, families, config, origins, host, isNeeded = () => !isLast)
  import parts.{committer, database, keeper, lock, maintenance, memory, recovery, snapshots}

  // Asked for by writers alone: a store that only reads has no database, and the settings need not be meant for it.
  // A preset by itself is right, and the first get after a restart need not wait for RocksDB's library.
  private[this] lazy val optionsChecked: Unit =
    if (!config.rocksDb.isPresetAlone) OptionsCheck.require(config.rocksDb)

  // And a moment at which Spark had asked for it.
  @volatile private[this] var newestBuiltOn = (Attempt(0L), ticker.nanos)

  /** Milliseconds a reader waited for what its task's writer then finds in memory, or -1. */
  private[this] val loadedByReader = new AtomicLong(-1L)

  /** Places keys in buckets, as all files of the checkpoint do. */
  def assigner: BucketAssigner = parts.assigner

  /**
   * Opens a version for the one writer. Waits for a writer that is still there, for the lock's time limit.
   *
   * @param base          which attempt at the version to build on. Without checkpoint ids its id is not
   *                      looked at; with them, one without an id must have been written without, as in the
   *                      first batch after ids were turned on.
   * @param reader        what the same task has read the version with, if it has: its rows and the
   *                      writer's must be of one commit, or else this throws `ConflictException`
   * @param forceSnapshot whether the commit must leave a snapshot
   * @param take          is given the session; when it throws, the writer has ended
   */
  def openForWrite[A](
      base: Attempt,
      reader: Option[ReadSession] = None,
      forceSnapshot: Boolean = false
  )(take: WriteSession => A): A = {
    if (parts.hasDatabase) loading(optionsChecked)
    val stamp = lock.acquire()
    try take(writer(known(base), reader, forceSnapshot, stamp))
    catch {
      case failure: Throwable =>
        try keeper.forget()
        finally lock.release(stamp)
        throw failure
    }
  }

  /**
   * Opens the empty state at a version for the one writer, whatever the checkpoint has of it: what is committed is the next
   * version, as a state by itself. Waits for a writer that is still there, for the lock's time limit.
   *
   * @param take is given the session; when it throws, the writer has ended
   */
  def openEmpty[A](version: Long)(take: WriteSession => A): A = {
    val stamp = lock.acquire()
    try take(empty(version, stamp))
    catch {
      case failure: Throwable =>
        lock.release(stamp)
        throw failure
    }
  }

  private def empty(version: Long, stamp: Long): WriteSession = {
    memory.writing()
    val ids = CheckpointIds.forStore(config.spark.checkpointIds, None, newId)
    val mayReplace =
      ids.own.isEmpty && loading(files.exists(ManifestName(Attempt(version + 1)).name))
    loading(parts.buckets.look())
    val table = parts.emptyTable(version)
    keeper.reading(table)
    new AloneSession(table, ids, mayReplace, stamp, parts, newId)
  }

  /**
   * Opens a version for reading, beside a writer and other readers.
   *
   * @param version its id is looked at even when ids are turned off: the state reader passes on what the
   *                query recorded, in a session that need not have the query's settings
   */
  def openForRead(version: Attempt): ReadSession = {
    lock.failIfClosed(StoreCall.Load)
    memory.opening()
    val start = ticker.nanos
    val opened = loading(keeper.openForRead(version.version, version.checkpointId))
    opened match {
      case _: Opened.Reloaded => loadedByReader.set(ticker.millisSince(start))
      case _                  => ()
    }
    val session = reading(opened.table, version.version, opened.commitId)
    try deleteFailed(opened)
    catch {
      case failure: Throwable =>
        session.end()
        throw failure
    }
    session
  }

  /**
   * The state at `target` by way of the state at `snapshot` as the checkpoint gives it, in a table that
   * nothing else uses.
   */
  def replay(snapshot: Attempt, target: Attempt): ReadSession = {
    lock.failIfClosed(StoreCall.Load)
    memory.opening()
    val recovered = parts.telling(loading(recovery.loadFrom(snapshot, target)))
    keeper.reading(recovered.table)
    reading(recovered.table, target.version, recovered.commitId)
  }

  private def reading(table: StateTable, version: Long, commitId: Option[UUID]): ReadSession =
    new ReadSession(table, version, commitId, () => keeper.endRead(table, version))

  /**
   * The changes that versions made to a column family, from the oldest version on. What goes wrong while
   * they are taken is thrown in the project's own words. To be closed unless they are taken to the end.
   *
   * @param to its changelog, and those of the versions it was built on
   */
  def changes(from: Long, to: Attempt, family: String): Changes = {
    lock.failIfClosed(StoreCall.Load)
    loading(new ChangeFeed(files, families).read(from, to.version, to.checkpointId, family))
  }

  /** Deletes what no version needs that is kept, when it is time to. */
  def maintain(): Unit = if (!isLast) {
    lock.failIfClosed(StoreCall.Maintenance)
    // While a part of the table lies in files only, they are needed, whatever the plan says; unless Spark
    // unloads the store right after this.
    try
      if (config.spark.unloadOnCommit || !keeper.isLoading) {
        val (version, since) = newestBuiltOn
        maintenance.run(version, since)
      }
    catch {
      // Spark has let go of the store before this, and does not come to close it.
      case failure: Throwable if config.spark.unloadOnCommit =>
        try close()
        catch { case second: Throwable => failure.addSuppressed(second) }
        throw failure
    }
  }

  /**
   * Waits for a task that still writes, within the lock's time limit, and closes the store for ever. When it throws
   * because that took too long, the store is closed as soon as the task has ended. Readers are not waited for: what they
   * have in memory they keep.
   *
   * @return false when it was closed already
   */
  def close(): Boolean = lock.close()

  /** Closes a store that is of no use any more: what is due is not finished, and `maintain` is no error. */
  def closeForGood(): Boolean = {
    isLast = true
    close()
  }

  private def writer(
      base: Attempt,
      reader: Option[ReadSession],
      forceSnapshot: Boolean,
      stamp: Long
  ): WriteSession = {
    // Spark's state reader opens variables and joins to write, and writes nothing.
    val isOfBatch = host.isOfBatch
    if (isOfBatch) memory.writing() else memory.opening()
    val start = ticker.nanos
    val opened = loading(keeper.openForWrite(base.version, base.checkpointId))
    deleteFailed(opened)
    reader.foreach(_.requireSameCommit(opened.commitId, host.name))
    val readerMs = loadedByReader.getAndSet(-1L)
    val loadMs = opened match {
      case _: Opened.Reloaded => Some(ticker.millisSince(start))
      case _                  => Option.when(readerMs >= 0)(readerMs)
    }
    database.foreach(db => loading(db.opened()))
    def begin(): Unit = {
      newestBuiltOn = (base, start)
      snapshots.goesOn()
      if (!config.snapshotsInCommit) snapshots.due(base).foreach(snapshots.submit)
    }
    if (isOfBatch) begin()
    val ids = CheckpointIds.forStore(config.spark.checkpointIds, base.checkpointId, newId)
    // As of now: what a reader of this process lists meanwhile was not known to whoever builds on this.
    val writtenUpTo = keeper.writtenUpTo
    val check = checkOf(opened, base, writtenUpTo)
    val version = OpenedForWrite(
      opened,
      base,
      ids,
      check,
      writtenUpTo,
      loadMs,
      forceSnapshot,
      Option.when(!isOfBatch) { () =>
        memory.writing()
        begin()
      }
    )
    new TableWriter(version, stamp, parts, newId)
  }

  private def known(base: Attempt): Attempt =
    if (config.spark.checkpointIds) base else Attempt(base.version)

  /** What failed of the database before goes with the table that it was made for. */
  private def deleteFailed(opened: Opened): Unit = opened match {
    case Opened.Reloaded(_, true) => database.foreach(_.deleteFailed())
    case _                        => ()
  }

  private def loading[A](open: => A): A =
    try open
    catch {
      case failure: Throwable =>
        throw host.cannotLoad(ForeignFiles.explaining(files)(failure))
    }

  /**
   * A version with a checkpoint id needs no check: its file bears the id in its name, no other attempt
   * writes that name, and Spark says which attempt won by the id it asks for.
   */
  private def checkOf(opened: Opened, base: Attempt, writtenUpTo: Long): LineageCheck =
    opened match {
      case _: Opened.Reloaded               => LineageCheck.Settled
      case _ if base.checkpointId.isDefined => LineageCheck.Settled
      case _                                =>
        val next = base.version + 1
        val nextIsNew = !config.spark.checkpointIds && next > writtenUpTo &&
          !committer.hasClaimed(next)
        opened.commitId.fold(LineageCheck.Settled)(
          LineageCheck.start(files, base.version, _, nextIsNew)
        )
    }
}

private[bucketstate] object OpenStore {

  /** Makes the checkpoint's folder if it is not there. When this throws, `files` is closed. */
  def apply(
      files: FileStore,
      families: KnownFamilies,
      config: StoreConfig,
      origins: ClocksAndIds,
      host: StoreHost
  ): OpenStore =
    try {
      val store = new OpenStore(files, families, config, origins, host)
      files.createFolder()
      store
    } catch {
      case failure: Throwable =>
        try files.close()
        catch { case second: Throwable => failure.addSuppressed(second) }
        throw failure
    }
}
