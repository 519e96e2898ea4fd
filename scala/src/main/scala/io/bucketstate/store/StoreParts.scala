package io.bucketstate.store

import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.Path
import java.util.UUID

import io.bucketstate.background.{BackgroundPool, ClocksAndIds, Patience, Ticker, Writers}
import io.bucketstate.checkpoint.io.{BlockCodec, Closing, FileStore, WorkFolder}
import io.bucketstate.checkpoint.manifest.{BucketCount, Checkpoint, RepairRules}
import io.bucketstate.checkpoint.records.KnownFamilies
import io.bucketstate.checkpoint.recovery.{Recovered, Recovery}
import io.bucketstate.checkpoint.retention.{MaintenancePlan, RetentionRules}
import io.bucketstate.checkpoint.run.read.RunAccess
import io.bucketstate.checkpoint.sst.SstOptions
import io.bucketstate.config.{ConfigKey, Engine, StoreConfig}
import io.bucketstate.history.StoreHistory
import io.bucketstate.record.BucketAssigner
import io.bucketstate.rocksdb.follower.{DatabaseSource, LocalDatabases, StoreDatabase}
import io.bucketstate.rocksdb.state.LocalStates
import io.bucketstate.table.{StateTable, StateTables}

/**
 * What a store is made of. Each part is made of those before it; three ties lead back, as functions, and
 * docs/architecture.md draws them: the warm-up asks memory for room, a table that the keeper has loaded is where
 * snapshots go on from, and the task that is the last to leave a closed store's lock ends all parts.
 *
 * To make them takes nothing of the process: each gets its threads, folders and limits when it first needs them.
 *
 * @param isNeeded whether what is not finished is still wanted when the parts are closed
 */
private[bucketstate] final class StoreParts(
    files: FileStore,
    families: KnownFamilies,
    val config: StoreConfig,
    origins: ClocksAndIds,
    val host: StoreHost,
    isNeeded: () => Boolean
) {
  import origins.{clock, newId}

  val ticker: Ticker = origins.ticker

  val buckets: BucketCount =
    new BucketCount(config.numBuckets, ConfigKey.NumBuckets.default.toInt, files)

  def assigner: BucketAssigner = buckets.assigner

  val lock: WriterLock =
    new WriterLock(host, config.lockAcquireTimeoutMs, ticker, Writers.OfProcess, () => end())

  private[this] val codec = BlockCodec.forName(config.spark.compressionCodec)
  private[this] val runs =
    new RunAccess(
      files,
      SstOptions.of(config),
      () => workFolder,
      config.maxRunFileBytes,
      clock,
      StoreMemory.readLimits(config, host)
    )
  private[this] val checkpoint = new Checkpoint(files, buckets, families, runs)

  val warmUp: WarmUp = new WarmUp(host.name, host.cannotLoad, () => memory)

  val recovery: Recovery = new Recovery(
    checkpoint,
    RepairRules(
      config.spark.repair,
      config.spark.repairAfterFailures,
      config.spark.repairMaxChangelogs
    ),
    warmUp,
    table => if (config.restoreEagerly) warmUp.atOnce(table),
    sharesNames = !config.spark.checkpointIds
  )

  /** A store that lives for one batch would make a database for nothing. */
  val hasDatabase: Boolean = config.engine == Engine.RocksDb && !config.spark.unloadOnCommit

  private[this] val history =
    new StoreHistory(files, isFollowed = hasDatabase, StoreMemory.Unwritten)

  val keeper: TableKeeper = new TableKeeper(
    load,
    history,
    config.spark.versionsInMemory,
    () => clock.instant.getEpochSecond,
    Patience(config.lockAcquireTimeoutMs, ticker, () => host.requireAlive()),
    reloaded
  )

  val database: Option[StoreDatabase] = Option.when(hasDatabase) {
    new StoreDatabase(
      history,
      checkpoint,
      new DatabaseSource(
        checkpoint,
        new LocalDatabases(
          () => workFolder,
          host.foldersLike,
          config.localDir.map(_ => new LocalStates(workFolder.path, assigner.numBuckets, newId)),
          config.rocksDb,
          StoreMemory.nativeLimits(config, host),
          newId
        ),
        (manifest, damage) => checkpoint.trust.failed(manifest.file, damage)
      ),
      keeper.advance(_, _),
      StoreMemory.mostUnwritten(config, host),
      config.lockAcquireTimeoutMs,
      ticker,
      BackgroundPool.databases
    )
  }

  val snapshots: StoreSnapshots = new StoreSnapshots(
    keeper,
    database,
    checkpoint,
    config,
    host,
    ticker
  )

  val memory: StoreMemory =
    new StoreMemory(keeper, runs, () => snapshots.flush(), config, host, ticker)

  val committer: Committer =
    new Committer(files, checkpoint.recent, buckets, codec, ticker)

  val maintenance: StoreMaintenance = new StoreMaintenance(
    files,
    RetentionRules(
      config.spark.minVersionsToRetain,
      maxVersionsToDelete = config.spark.maxVersionsToDelete
    ),
    MaintenancePlan(config.spark.minVersionsToDelete, config.spark.unloadOnCommit),
    checkpoint.trust,
    () => snapshots.inUse,
    host.held(_),
    clock
  )

  val figures: FigureSources =
    new FigureSources(database, snapshots, warmUp, maintenance, memory, files.requests)

  /** A table of its own that holds nothing at a version, which is open for writing the next one. */
  def emptyTable(version: Long): StateTable = {
    val table = StateTables.heap(
      assigner,
      version,
      families.initial,
      countsExactly = families.countsExactly
    )
    table.begin(keepFrom = version, clock.instant.getEpochSecond)
    table
  }

  /** Tells the host of what was loaded. */
  def telling(recovered: Recovered): Recovered = {
    if (recovered.table.newest > 0) host.restored()
    recovered
  }

  private def load(version: Long, checkpointId: Option[String]): Recovered = {
    // Nothing that is loaded from here on would be dropped.
    lock.failIfClosed(StoreCall.Load)
    telling(recovery.load(version, checkpointId))
  }

  /** Snapshots go on from what becomes the table, whose keeper is locked. */
  private def reloaded(recovered: Recovered): Unit = {
    checkpoint.recent.forget()
    snapshots.restored(recovered)
  }

  private def workFolder: WorkFolder = config.localDir match {
    case Some(folder) =>
      // The same for the same store, so that a restart on this machine finds its copies.
      val own = UUID.nameUUIDFromBytes(files.location.getBytes(UTF_8)).toString
      WorkFolder(Path.of(folder, "bucketstate", own), temporary = false)
    case None => WorkFolder.ofItsOwn(host.newFolder())
  }

  /** All of them, whatever goes wrong; throws the first of that. */
  private def end(): Unit = Closing.all(
    Seq[AutoCloseable](
      () => warmUp.stop(),
      () => snapshots.close(finish = config.spark.unloadOnCommit && isNeeded()),
      () => keeper.forget(),
      () => database.foreach(_.close()),
      () => memory.close(),
      () => committer.close(),
      () => files.close()
    )
  )
}
