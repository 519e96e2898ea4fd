package io.bucketstate.store

import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.Path
import java.util.UUID
import java.util.concurrent.atomic.AtomicLong

import io.bucketstate.background.{BackgroundPool, ClocksAndIds, Patience, Writers}
import io.bucketstate.checkpoint.changelog.{ChangeFeed, Changes}
import io.bucketstate.checkpoint.io.{
  Attempt,
  BlockCodec,
  Closing,
  FileStore,
  ForeignFiles,
  WorkFolder
}
import io.bucketstate.checkpoint.manifest.{Checkpoint, Manifest, RepairRules}
import io.bucketstate.checkpoint.records.KnownFamilies
import io.bucketstate.checkpoint.recovery.{Recovered, Recovery}
import io.bucketstate.checkpoint.retention.{MaintenancePlan, RetentionRules}
import io.bucketstate.checkpoint.run.read.RunAccess
import io.bucketstate.checkpoint.snapshot.{SnapshotPlan, Snapshotter}
import io.bucketstate.checkpoint.sst.SstOptions
import io.bucketstate.config.{Engine, StoreConfig}
import io.bucketstate.error.BucketstateException
import io.bucketstate.history.{CheckpointIds, StoreHistory}
import io.bucketstate.record.BucketAssigner
import io.bucketstate.rocksdb.follower.{DatabaseSource, LocalDatabases, StoreDatabase}
import io.bucketstate.rocksdb.state.{LocalStates, OptionsCheck}
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
  import origins.{clock, newId, ticker}

  /** Places keys in buckets, as all files of the checkpoint do. */
  val assigner: BucketAssigner = new BucketAssigner(config.numBuckets)

  private[this] val codec = BlockCodec.forName(config.spark.compressionCodec)
  private[this] val runs =
    new RunAccess(
      files,
      SstOptions(codec, config.runBlockBytes, config.bloomBits),
      () => workFolder,
      config.maxRunFileBytes,
      clock,
      StoreMemory.readLimits(config, host)
    )
  private[this] val checkpoint = new Checkpoint(files, assigner, families, runs)
  private[this] val warmUp: WarmUp =
    new WarmUp(host.name, config.numBuckets, host.cannotLoad, () => memory)
  private[this] val recovery = new Recovery(
    checkpoint,
    RepairRules(
      config.spark.repair,
      config.spark.repairAfterFailures,
      config.spark.repairMaxChangelogs
    ),
    warmUp,
    table => if (config.restoreEagerly) warmUp.now(table)
  )
  // A store that lives for one batch would make a database for nothing.
  private[this] val hasDatabase =
    config.engine == Engine.RocksDb && !config.spark.unloadOnCommit
  private[this] val history = new StoreHistory(files, isFollowed = hasDatabase)
  private[this] val keeper = new TableKeeper(
    load,
    history,
    config.spark.versionsInMemory,
    () => clock.instant.getEpochSecond,
    Patience(config.lockAcquireTimeoutMs, ticker, () => host.requireAlive()),
    reloaded
  )
  // Asked for by writers alone: a store that only reads has no database, and the settings need not be meant for it.
  // A preset by itself is right, and the first get after a restart need not wait for RocksDB's library.
  private[this] lazy val optionsChecked: Unit =
    if (!config.rocksDb.isPresetAlone) OptionsCheck.require(config.rocksDb)
  private[this] val database = Option.when(hasDatabase) {
    new StoreDatabase(
      history,
      checkpoint,
      new DatabaseSource(
        checkpoint,
        new LocalDatabases(
          () => workFolder,
          host.foldersLike,
          config.localDir.map(_ => new LocalStates(workFolder.path, config.numBuckets, newId)),
          config.rocksDb,
          StoreMemory.nativeLimits(config, host),
          newId
        ),
        recovery.damaged(_, _)
      ),
      keeper.advance(_, _),
      StoreMemory.mostUnwritten(config, host),
      config.lockAcquireTimeoutMs,
      ticker,
      BackgroundPool.databases
    )
  }
  private[this] val snapshotter =
    new Snapshotter(checkpoint, host.name, host.schemasOf, config.maxRuns, config.maxMergeBytes)
  private[this] val snapshots = new StoreSnapshots(
    keeper,
    database,
    snapshotter,
    SnapshotPlan(
      config.snapshotMaxVersions,
      config.snapshotMaxBytes,
      compactsBeside = !config.spark.unloadOnCommit
    ),
    checkpoint,
    ticker,
    new ManifestWatch {
      override def published(manifest: Manifest): Unit = {
        recovery.renewed(manifest)
        host.snapshotMade(manifest.version)
      }
      override def damaged(manifest: Manifest, cause: BucketstateException): Unit =
        recovery.damaged(manifest, cause)
    }
  )
  private[this] val memory: StoreMemory =
    new StoreMemory(keeper, runs, () => snapshots.flush(), config, host, ticker)
  private[this] val lock =
    new WriterLock(host, config.lockAcquireTimeoutMs, ticker, Writers.OfProcess, () => end())
  private[this] val committer = new Committer(files, checkpoint.recent, assigner, codec, ticker)
  private[this] val commits =
    new Commits(
      keeper,
      committer,
      AfterCommit(database, snapshots, warmUp, memory),
      config.snapshotsInCommit,
      newId
    )
  private[this] val maintenance = new StoreMaintenance(
    files,
    RetentionRules(
      config.spark.minVersionsToRetain,
      maxVersionsToDelete = config.spark.maxVersionsToDelete
    ),
    MaintenancePlan(config.spark.minVersionsToDelete, config.spark.unloadOnCommit),
    () => snapshots.inUse,
    clock
  )
  private[this] val figures =
    new FigureSources(database, snapshots, warmUp, maintenance, memory, files.requests)

  @volatile private[this] var newestBuiltOn = Attempt(0L)

  /** Milliseconds a reader waited for what its task's writer then finds in memory, or -1. */
  private[this] val loadedByReader = new AtomicLong(-1L)

  /** There will be no later batch, and nothing to maintain any more. */
  @volatile private[this] var isLast = false

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
    if (hasDatabase) loading(optionsChecked)
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
    val recovered = telling(loading(recovery.loadFrom(snapshot, target)))
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
    try if (config.spark.unloadOnCommit || !keeper.isLoading) maintenance.run(newestBuiltOn)
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

  /** All of it, whatever goes wrong; throws the first of that. */
  private def end(): Unit = Closing.all(
    Seq[AutoCloseable](
      () => warmUp.stop(),
      () => snapshots.close(finish = config.spark.unloadOnCommit && !isLast),
      () => keeper.forget(),
      () => database.foreach(_.close()),
      () => memory.close(),
      () => committer.close(),
      () => files.close()
    )
  )

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
    memory.writing()
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
    newestBuiltOn = base
    if (!config.snapshotsInCommit) snapshots.due(base).foreach(snapshots.submit)
    val ids = CheckpointIds.forStore(config.spark.checkpointIds, base.checkpointId, newId)
    val version =
      OpenedForWrite(opened, base, ids, checkOf(opened, base), loadMs, forceSnapshot)
    new TableWriter(version, stamp, lock, commits, figures, host.committed)
  }

  private def known(base: Attempt): Attempt =
    if (config.spark.checkpointIds) base else Attempt(base.version)

  private def load(version: Long, checkpointId: Option[String]): Recovered = {
    // Nothing that is loaded from here on would be dropped.
    lock.failIfClosed(StoreCall.Load)
    telling(recovery.load(version, checkpointId))
  }

  private def telling(recovered: Recovered): Recovered = {
    if (recovered.table.newest > 0) host.restored()
    recovered
  }

  /** What failed of the database before goes with the table that it was made for. */
  private def deleteFailed(opened: Opened): Unit = opened match {
    case Opened.Reloaded(_, true) => database.foreach(_.deleteFailed())
    case _                        => ()
  }

  /** Snapshots go on from what becomes the table, whose keeper is locked. */
  private def reloaded(recovered: Recovered): Unit = {
    checkpoint.recent.forget()
    snapshots.restored(recovered)
  }

  private def loading[A](open: => A): A =
    try open
    catch {
      case failure: Throwable =>
        throw host.cannotLoad(ForeignFiles.explaining(files)(failure))
    }

  private def workFolder: WorkFolder = config.localDir match {
    case Some(folder) =>
      // The same for the same store, so that a restart on this machine finds its copies.
      val own = UUID.nameUUIDFromBytes(files.location.getBytes(UTF_8)).toString
      WorkFolder(Path.of(folder, "bucketstate", own), temporary = false)
    case None => WorkFolder.ofItsOwn(host.newFolder())
  }

  /**
   * A version with a checkpoint id needs no check: its file bears the id in its name, no other attempt
   * writes that name, and Spark says which attempt won by the id it asks for.
   */
  private def checkOf(opened: Opened, base: Attempt): LineageCheck = opened match {
    case _: Opened.Reloaded               => LineageCheck.Settled
    case _ if base.checkpointId.isDefined => LineageCheck.Settled
    case _                                =>
      val next = base.version + 1
      val nextIsNew = !config.spark.checkpointIds && !keeper.mayBeWritten(next) &&
        !committer.hasWritten(next)
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
