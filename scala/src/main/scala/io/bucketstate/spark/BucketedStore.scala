package io.bucketstate.spark

import java.nio.file.Path
import java.time.Clock
import java.util.UUID
import java.util.concurrent.atomic.AtomicLong

import org.apache.hadoop.conf.Configuration
import org.apache.spark.TaskContext
import org.apache.spark.sql.execution.streaming.state._
import org.apache.spark.sql.types.StructType

import io.bucketstate.bucket.BucketAssigner
import io.bucketstate.checkpoint.changelog.ChangeFeed
import io.bucketstate.checkpoint.io.{Attempt, BlockCodec, FileStores}
import io.bucketstate.checkpoint.manifest.{Manifest, RepairRules}
import io.bucketstate.checkpoint.records.KnownFamilies
import io.bucketstate.checkpoint.recovery.{Recovered, Recovery}
import io.bucketstate.checkpoint.retention.RetentionRules
import io.bucketstate.checkpoint.run.{RunAccess, WorkFolder}
import io.bucketstate.checkpoint.snapshot.{SnapshotPlan, Snapshotter}
import io.bucketstate.config.{MetricKey, StoreConfig}
import io.bucketstate.error.{ConflictException, CorruptException, MissingException}
import io.bucketstate.store.{
  CheckpointIds,
  Committer,
  LineageCheck,
  Opened,
  StoreMaintenance,
  StoreSnapshots,
  TableKeeper,
  Ticker,
  WarmUp
}
import io.bucketstate.table.StateTable

/**
 * What Spark says of a store when it makes its provider.
 *
 * @param multiValued whether keys of the default family may have several values
 */
private[bucketstate] final case class StoreDefinition(
    id: StateStoreId,
    keySchema: StructType,
    valueSchema: StructType,
    keySpec: KeyStateEncoderSpec,
    useColumnFamilies: Boolean,
    multiValued: Boolean
) {
  def default: FamilySchema = FamilySchema(
    StateStore.DEFAULT_COL_FAMILY_NAME,
    keySchema,
    valueSchema,
    keySpec,
    multiValued,
    isInternal = false
  )
}

/**
 * One store of one query run: opens versions for tasks, one writer at a time, readers beside it.
 *
 * Memory is a cache of the checkpoint: whatever goes wrong here, the table is dropped and the next task
 * loads it. Thread-safe.
 */
private[bucketstate] final class BucketedStore(
    definition: StoreDefinition,
    config: StoreConfig,
    conf: StateStoreConf,
    hadoopConf: Configuration,
    clock: Clock,
    newId: () => UUID
) extends EndsWithSession {
  val id: StateStoreId = definition.id

  private[this] val ticker = Ticker.System
  private[this] val registry =
    new FamilyRegistry(definition.default, definition.useColumnFamilies)
  private[this] val assigner = new BucketAssigner(config.numBuckets)
  private[this] val codec = BlockCodec.forName(config.spark.compressionCodec)
  private[this] val files = FileStores.forFolder(id.storeCheckpointLocation(), hadoopConf)
  private[this] val families =
    new KnownFamilies(registry.default.descriptor(0), definition.useColumnFamilies)
  private[this] val runs =
    new RunAccess(files, codec, () => workFolder, config.maxRunFileBytes, clock)
  private[this] val warmUp =
    new WarmUp(id.toString, config.numBuckets, SparkErrors.cannotLoad(id, _))
  private[this] val recovery = new Recovery(
    files,
    assigner,
    families,
    runs,
    RepairRules(
      config.spark.repair,
      config.spark.repairAfterFailures,
      config.spark.repairMaxChangelogs
    ),
    warmUp,
    table => if (config.restoreEagerly) warmUp.now(table)
  )
  private[this] val keeper = new TableKeeper(load, config.spark.versionsInMemory)
  private[this] val snapshotter = new Snapshotter(
    files,
    assigner,
    families,
    runs,
    id.toString,
    registry.of(_).map(_.json),
    config.maxRuns
  )
  private[this] val snapshots = new StoreSnapshots(
    keeper,
    snapshotter,
    SnapshotPlan(
      config.snapshotMaxVersions,
      config.snapshotMaxBytes,
      compactsBeside = !conf.unloadOnCommit
    ),
    runs,
    files.location,
    published
  )
  private[this] val lock = new WriterLock(id, config.lockAcquireTimeoutMs, ticker)
  private[this] val committer = new Committer(files, assigner, codec, ticker)
  private[this] val maintenance = new StoreMaintenance(
    files,
    RetentionRules(
      config.spark.minVersionsToRetain,
      maxVersionsToDelete = config.spark.maxVersionsToDelete
    ),
    config.spark.minVersionsToDelete,
    conf.unloadOnCommit,
    () => snapshotter.inFlight,
    clock
  )
  private[this] val validator =
    new RowValidator(id, definition.keySchema, definition.valueSchema, conf)
  @volatile private[this] var newestBuiltOn = Attempt(0L)

  /** Milliseconds a read store took to load what its task's write store then finds in memory, or -1. */
  private[this] val loadedByReader = new AtomicLong(-1L)

  /** Spark stopped in this process, and there is nothing to maintain any more. */
  @volatile private[this] var ended = false

  override def name: String = id.toString

  files.createFolder()
  SessionEnd.tell(this)

  /**
   * @param checkpointId which attempt at `version` to build on. Not looked at when ids are turned off,
   *                     as in Spark's RocksDB provider; without one the version must have been written
   *                     without, as in the first batch after ids were turned on.
   * @param reader       what the same task has read the version with, if it has: its rows and ours must
   *                     be of one commit
   */
  def openForWrite(
      version: Long,
      checkpointId: Option[String],
      forceSnapshot: Boolean,
      loadEmpty: Boolean,
      reader: Option[BucketedReadStore] = None
  ): StateStore = {
    requireVersion(version)
    val base = if (conf.enableStateStoreCheckpointIds) checkpointId else None
    if (loadEmpty) {
      throw StateStoreErrors.unsupportedOperationException(
        "getStore(loadEmpty)",
        StoreView.Provider
      )
    }
    val stamp = lock.acquire()
    try {
      val start = ticker.nanos
      val opened = opening(keeper.openForWrite(version, base))
      reader.foreach(requireSameCommit(_, opened))
      val readerMs = loadedByReader.getAndSet(-1L)
      val loadMs = opened match {
        case _: Opened.Reloaded => Some(ticker.millisSince(start))
        case _                  => Option.when(readerMs >= 0)(readerMs)
      }
      newestBuiltOn = Attempt(version, base)
      if (!config.snapshotsInCommit) {
        snapshots.due(newestBuiltOn).foreach(snapshots.submit)
      }
      val ids = CheckpointIds.forStore(conf.enableStateStoreCheckpointIds, base, newId)
      val lineage = checkOf(opened, version, base)
      val session =
        new Session(opened, stamp, loadMs, lineage, ids, forceSnapshot)
      val store =
        new BucketedStateStore(id, version, viewsOf(opened.table, version + 1), validator, session)
      onTaskEnd(() => store.abortIfOpen(), () => lock.release(stamp))
      store
    } catch {
      case failure: Throwable =>
        keeper.forget()
        lock.release(stamp)
        throw failure
    }
  }

  /**
   * @param checkpointId looked at even when ids are turned off: the state reader passes on what the
   *                     query recorded, in a session that need not have the query's settings
   */
  def openForRead(version: Long, checkpointId: Option[String]): ReadStateStore = {
    requireVersion(version)
    lock.failIfClosed("ACQUIRED", "load")
    val start = ticker.nanos
    val opened = opening(keeper.openForRead(version, checkpointId))
    val table = opened.table
    opened match {
      case _: Opened.Reloaded => loadedByReader.set(ticker.millisSince(start))
      case _                  => ()
    }
    val end = () => keeper.endRead(table, version)
    val store =
      new BucketedReadStore(id, version, viewsOf(table, version), validator, opened.commitId, end)
    onTaskEnd(() => store.endIfOpen(), () => ())
    store
  }

  /**
   * The state at `to` by way of the state at `from` as the checkpoint gives it, in a table of its own:
   * for the state reader.
   */
  def replay(
      from: Long,
      fromId: Option[String],
      to: Long,
      toId: Option[String]
  ): ReplayedState = {
    requireReplay(from, to)
    lock.failIfClosed("ACQUIRED", "load")
    val recovered =
      loading(recovery.loadFrom(Attempt(from, fromId), Attempt(to, toId)))
    val table = expecting(recovered).table
    new ReplayedState(id, table, viewsOf(table, _), validator)
  }

  /** The changes of the versions `from` to `to`, as Spark's change feed wants them. */
  def changes(
      from: Long,
      to: Long,
      columnFamily: Option[String],
      checkpointId: Option[String]
  ): ChangeRecords = {
    requireReplay(from, to)
    val name = columnFamily.getOrElse(registry.default.name)
    val schema = registry.of(name).getOrElse {
      throw StateStoreErrors.unsupportedOperationOnMissingColumnFamily("readChangeFeed", name)
    }
    lock.failIfClosed("ACQUIRED", "load")
    val decoder = new ChangeDecoder(schema)
    val feed = loading(new ChangeFeed(files, families).read(from, to, checkpointId, name))
    val changes = feed.flatMap(decoder.decode)
    new ChangeRecords(() => loading(changes.nextOption()))
  }

  private def requireReplay(from: Long, to: Long): Unit = {
    if (from < 1) throw SparkInternals.unexpectedVersion(from)
    if (to < from) throw SparkInternals.unexpectedVersion(to)
  }

  def maintain(): Unit = if (!ended) {
    lock.failIfClosed("MAINTENANCE", "maintenance")
    // While a part of the table lies in files only, they are needed, whatever the plan says; unless Spark
    // unloads the store right after this.
    if (conf.unloadOnCommit || !keeper.isLoading) maintenance.run(newestBuiltOn)
  }

  /** Waits for a task that still writes, within the lock's time limit. */
  def close(): Unit = if (lock.close()) {
    SessionEnd.forget(this)
    warmUp.stop()
    snapshots.close(finish = conf.unloadOnCommit && !ended)
    keeper.forget()
    committer.close()
    files.close()
  }

  /** Closes the store; the next session's maintenance may still find it, and is not in the wrong. */
  override def sessionEnded(): Unit = {
    ended = true
    close()
  }

  private def load(version: Long, checkpointId: Option[String]): Recovered =
    expecting(recovery.load(version, checkpointId))

  private def expecting(recovered: Recovered): Recovered = {
    if (recovered.table.newest > 0) validator.expectRestored()
    recovered
  }

  /** Snapshots go on from what became the table. */
  private def opening(open: => Opened): Opened = {
    val opened = loading(open)
    opened match {
      case Opened.Reloaded(recovered, true) => snapshots.restored(recovered)
      case _                                => ()
    }
    opened
  }

  private def published(manifest: Manifest): Unit = {
    recovery.renewed(manifest)
    if (conf.reportSnapshotUploadLag) {
      SparkInternals
        .runId(hadoopConf)
        .foreach(SparkInternals.reportSnapshot(id, _, manifest.version, clock.millis()))
    }
  }

  private def workFolder: WorkFolder = config.localDir match {
    case Some(folder) =>
      // The same for the same store, so that a restart on this machine finds its copies.
      val own = UUID.nameUUIDFromBytes(files.location.getBytes("UTF-8")).toString
      WorkFolder(Path.of(folder, "bucketstate", own), temporary = false)
    case None => WorkFolder(SparkInternals.newLocalFolder().toPath, temporary = true)
  }

  private def viewsOf(table: StateTable, version: Long): FamilyViews =
    new FamilyViews(registry, table, version, assigner)

  private def requireVersion(version: Long): Unit =
    if (version < 0) throw SparkInternals.unexpectedVersion(version)

  private def loading[A](open: => A): A =
    try open
    catch {
      case failure: Throwable =>
        throw SparkErrors.cannotLoad(id, failure)
    }

  /**
   * A version with a checkpoint id needs no check: its file bears the id in its name, no other attempt
   * writes that name, and Spark says which attempt won by the id it asks for.
   */
  private def checkOf(opened: Opened, version: Long, base: Option[String]): LineageCheck =
    opened match {
      case _: Opened.Reloaded  => LineageCheck.Settled
      case _ if base.isDefined => LineageCheck.Settled
      case _                   =>
        opened.commitId.fold(LineageCheck.Settled)(LineageCheck.start(files, version, _))
    }

  /**
   * With checkpoint format 1 a task may read an attempt at its version from memory and write on top of
   * another one: when the provider was unloaded in between, or memory was dropped because of a conflict.
   */
  private def requireSameCommit(reader: BucketedReadStore, opened: Opened): Unit =
    if (reader.readFrom != opened.commitId) {
      throw new ConflictException(
        s"version ${reader.version} of $id was read as commit ${reader.readFrom.mkString}, it is now " +
          s"of commit ${opened.commitId.mkString}",
        "Another attempt of the task won meanwhile. This attempt fails; its retry reads the winner's rows."
      )
    }

  /** Spark runs these when the task ends, however it ends; outside a task there is nobody to run them. */
  private def onTaskEnd(first: () => Unit, last: () => Unit): Unit =
    Option(TaskContext.get()).foreach { context =>
      context.addTaskCompletionListener[Unit]((_: TaskContext) =>
        try first()
        finally last()
      )
    }

  /** What one write store does to the table and the files, while its stamp is the current one. */
  private final class Session(
      opened: Opened,
      stamp: Long,
      loadMs: Option[Long],
      lineage: LineageCheck,
      override val ids: CheckpointIds,
      forceSnapshot: Boolean
  ) extends WriteSession {
    private[this] val lazyLoadsBefore = opened.table.lazyLoads

    override def commit(): StateStoreMetrics = {
      try {
        lineage.settle()
        opened.table.requireVerified()
      } catch {
        // A read that failed says nothing of what is in memory. A table that is not sound is loaded anew.
        case e @ (_: ConflictException | _: MissingException | _: CorruptException) =>
          keeper.forget()
          throw e
      }
      val due = if (config.snapshotsInCommit) snapshots.due(newestBuiltOn) else None
      val figures =
        try {
          val written = publish()
          due.foreach(snapshots.run)
          written
        } finally due.foreach(snapshots.giveUp)
      if (forceSnapshot) snapshots.force(Attempt(opened.table.newest, ids.own))
      if (conf.commitValidationEnabled) {
        StateStore.reportCommitToCoordinator(opened.table.newest, id, hadoopConf)
      }
      metricsWith(figures)
    }

    private def publish(): Map[MetricKey, Long] = {
      val commitId = newId()
      val figures = committer.commit(opened.table, ids, commitId, opened.commitId)
      keeper.committed(opened.table, commitId, ids.own)
      snapshots.checkpointed(opened.table.newest, figures(MetricKey.ChangelogBytes))
      warmUp.again(opened.table)
      figures
    }

    override def abort(): Unit = keeper.aborted(opened.table)

    // What happened since the last report is left for the next commit's: Spark reports no other.
    override def current: StateStoreMetrics = SparkMetrics.of(
      id,
      FamilyViews.keyCount(opened.table),
      opened.table.memoryBytes,
      Map.empty,
      snapshots.newestVersion
    )

    override def verify(): Unit = lock.verify(stamp)

    override def isCurrent: Boolean = lock.isHeldBy(stamp)

    override def end(): Unit = lock.release(stamp)

    private def metricsWith(figures: Map[MetricKey, Long]): StateStoreMetrics =
      SparkMetrics.of(
        id,
        FamilyViews.keyCount(opened.table),
        opened.table.memoryBytes,
        figures ++ openingFigures ++ snapshots.drainFigures(opened.table.newest) ++ Map(
          MetricKey.WarmUpFailures -> warmUp.drainFailures(),
          MetricKey.LazyLoads -> (opened.table.lazyLoads - lazyLoadsBefore),
          MetricKey.RetentionFailures -> maintenance.failures,
          MetricKey.InternalKeys -> FamilyViews.internalKeyCount(opened.table),
          MetricKey.ForcedSnapshots -> (if (forceSnapshot) 1L else 0L)
        ),
        snapshots.newestVersion
      )

    private def openingFigures: Map[MetricKey, Long] = (opened, loadMs) match {
      case (_, Some(ms))           => Map(MetricKey.TableReloads -> 1L, MetricKey.ReloadTime -> ms)
      case (_: Opened.Reopened, _) => Map(MetricKey.TableReopens -> 1L)
      case _                       => Map(MetricKey.TableHits -> 1L)
    }
  }
}
