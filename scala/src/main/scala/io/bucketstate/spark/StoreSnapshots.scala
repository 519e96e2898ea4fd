package io.bucketstate.spark

import java.nio.file.Path
import java.time.Clock
import java.util.UUID
import java.util.concurrent.atomic.AtomicLong

import scala.util.control.NonFatal

import org.apache.hadoop.conf.Configuration
import org.apache.spark.sql.execution.streaming.state.{SparkInternals, StateStoreConf, StateStoreId}
import org.slf4j.LoggerFactory

import io.bucketstate.bucket.BucketAssigner
import io.bucketstate.checkpoint.io.{Attempt, BlockCodec, FileStore}
import io.bucketstate.checkpoint.manifest.{Manifest, RepairRules}
import io.bucketstate.checkpoint.records.KnownFamilies
import io.bucketstate.checkpoint.recovery.{Recovered, Recovery, TailCheck}
import io.bucketstate.checkpoint.run.{RunAccess, WorkFolder}
import io.bucketstate.checkpoint.snapshot.{FamilySchemas, SnapshotPlan, SnapshotTarget, Snapshotter}
import io.bucketstate.config.{MetricKey, StoreConfig}
import io.bucketstate.store.{
  Background,
  BackgroundPool,
  BucketLoading,
  DueSnapshot,
  SnapshotScheduler,
  TableKeeper,
  Ticker
}
import io.bucketstate.table.{LoadHost, StateTable}

/**
 * The snapshots of one store: what they are made with, when they are made, and who is told of them.
 * Thread-safe.
 */
private[spark] final class StoreSnapshots(
    id: StateStoreId,
    config: StoreConfig,
    conf: StateStoreConf,
    hadoopConf: Configuration,
    files: FileStore,
    codec: BlockCodec,
    assigner: BucketAssigner,
    families: KnownFamilies,
    schemas: String => Option[FamilySchemas],
    ticker: Ticker,
    clock: Clock
) {
  private[this] val log = LoggerFactory.getLogger(classOf[StoreSnapshots])
  private[this] val runId = SparkInternals.runId(hadoopConf)
  private[this] val snapshotter =
    new Snapshotter(files, assigner, families, runs, id.toString, schemas, config.maxRuns)
  private[this] val scheduler = new SnapshotScheduler(
    snapshotter,
    SnapshotPlan(config.snapshotMaxVersions, config.snapshotMaxBytes),
    files.location,
    published,
    ticker,
    Background.ofProcess(ticker)
  )
  private[this] val loading = new BucketLoading

  private[this] object Host extends LoadHost {

    /** What a bucket cannot be loaded for when it is touched is told as what a version cannot be. */
    override def failureOf(cause: Throwable): Throwable = SparkErrors.cannotLoad(id, cause)

    /** Not before: the first bucket that a batch waits for is to have the machine for itself. */
    override def inUse(table: StateTable): Unit = {
      val unread = unverified
      if (!unread.isDone) BackgroundPool.submit(() => unread.run())
      warmUp(table)
    }

    override def forEach(count: Int)(load: Int => Unit): Unit = loading.forEach(count)(load)
  }

  @volatile private[this] var keeper: TableKeeper = _
  @volatile private[this] var restoredFrom: Option[Manifest] = None
  @volatile private[this] var unverified = TailCheck.Settled // of the restored table's files
  @volatile private[this] var isWarmUpBroken = false
  private[this] val warmUpFailures = new AtomicLong
  @volatile private[this] var newest = -1L
  @volatile private[this] var builtOn = (Attempt(0L), Option.empty[UUID]) // and its commit

  /** Reads and writes runs. */
  lazy val runs: RunAccess =
    new RunAccess(files, codec, () => workFolder, config.maxRunFileBytes, clock)

  lazy val recovery: Recovery = new Recovery(
    files,
    assigner,
    families,
    runs,
    RepairRules(
      config.spark.repair,
      config.spark.repairAfterFailures,
      config.spark.repairMaxChangelogs
    ),
    Host,
    table => if (config.restoreEagerly) loading.now(table, config.numBuckets)
  )

  /** Version of the newest snapshot that was made, -1 if there was none. */
  def newestVersion: Long = newest

  /** Data files that a snapshot under way builds on. */
  def inFlight: Set[String] = snapshotter.inFlight

  /** The keeper has loaded its table. */
  def restored(by: TableKeeper, recovered: Recovered): Unit = {
    keeper = by
    restoredFrom = recovered.manifest
    unverified = recovered.check
    isWarmUpBroken = false
    scheduler.restored(recovered)
  }

  private def isCurrent(table: StateTable): Boolean = Option(keeper).exists(_.isCurrent(table))

  /** A version became durable. */
  def checkpointed(table: StateTable, changelogBytes: Long): Unit = {
    scheduler.checkpointed(table.newest, changelogBytes)
    if (isWarmUpBroken) {
      isWarmUpBroken = false
      warmUp(table)
    }
  }

  /** Loads what is not in memory yet, in the background; after a failure again with the next batch. */
  private def warmUp(table: StateTable): Unit =
    loading.later(
      table,
      config.numBuckets,
      () => isCurrent(table),
      failure => {
        warmUpFailures.incrementAndGet()
        isWarmUpBroken = table.isSound
        val next =
          if (table.isSound) "It is tried again with the next batch"
          else "No batch is committed on top of it; the next one loads the checkpoint anew"
        log.warn(s"The state of $id could not be loaded in the background. $next.", failure)
      }
    )

  /** The snapshot to be taken now that Spark has opened a version for the next batch. O(1). */
  def due(by: TableKeeper, version: Attempt): Option[DueSnapshot] = {
    builtOn = (version, by.commitOf(version.version))
    // When it begins, newer versions may have been built on.
    Option.when(scheduler.opened(version.version)) {
      new DueSnapshot(() => {
        val (newest, commitId) = builtOn
        targetOf(by, newest, commitId)
      })
    }
  }

  def submit(snapshot: DueSnapshot): Unit = scheduler.submit(snapshot)

  def run(snapshot: DueSnapshot): Unit = scheduler.run(snapshot)

  def giveUp(snapshot: DueSnapshot): Unit = scheduler.giveUp(snapshot)

  /** A snapshot of a version that the caller must have, also if nothing is built on it yet. */
  def force(by: TableKeeper, version: Attempt): Unit = {
    val target = targetOf(by, version, by.commitOf(version.version))
    try scheduler.force(target)
    finally target.release()
  }

  private def targetOf(by: TableKeeper, version: Attempt, commitId: Option[UUID]) = {
    val (memory, release) = by.capture(version, commitId).unzip
    SnapshotTarget(version, commitId, memory, release.getOrElse(() => ()))
  }

  /** Figures since the last call, and of now. */
  def drainFigures(version: Long): Map[MetricKey, Long] =
    scheduler.drainFigures(version) + (MetricKey.WarmUpFailures -> warmUpFailures.getAndSet(0L))

  /**
   * Ends what goes on in the background, and lets go of what is native.
   *
   * @param finish whether a snapshot that is due is finished, because there is no later batch to try it again
   */
  def close(finish: Boolean): Unit = {
    loading.stop()
    if (finish) scheduler.finish()
    scheduler.close()
    try runs.close()
    catch { case NonFatal(e) => log.warn(s"Working files of ${files.location} may be left", e) }
  }

  private def published(manifest: Manifest): Unit = {
    newest = manifest.version
    recovery.renewed(manifest)
    try {
      val loading = Option(keeper).exists(_.isLoading)
      val needed = if (loading) restoredFrom.fold(Set.empty[String])(_.fileNames) else Set.empty
      runs.retain(manifest.fileNames ++ needed)
      if (conf.reportSnapshotUploadLag) {
        runId.foreach(SparkInternals.reportSnapshot(id, _, manifest.version, clock.millis()))
      }
    } catch {
      case NonFatal(e) => log.warn(s"After the snapshot ${manifest.file.name} of $id", e)
    }
  }

  private def workFolder: WorkFolder = config.localDir match {
    case Some(folder) =>
      // The same for the same store, so that a restart on this machine finds its copies.
      val own = UUID.nameUUIDFromBytes(files.location.getBytes("UTF-8")).toString
      WorkFolder(Path.of(folder, "bucketstate", own), temporary = false)
    case None => WorkFolder(SparkInternals.newLocalFolder().toPath, temporary = true)
  }
}
