package io.bucketstate.spark

import java.nio.file.Path
import java.time.Clock
import java.util.UUID

import scala.util.control.NonFatal

import org.apache.hadoop.conf.Configuration
import org.apache.spark.sql.execution.streaming.state.{SparkInternals, StateStoreConf, StateStoreId}
import org.slf4j.LoggerFactory

import io.bucketstate.bucket.BucketAssigner
import io.bucketstate.checkpoint.io.{Attempt, BlockCodec, FileStore}
import io.bucketstate.checkpoint.manifest.{Manifest, RepairRules}
import io.bucketstate.checkpoint.records.KnownFamilies
import io.bucketstate.checkpoint.recovery.{Recovered, Recovery}
import io.bucketstate.checkpoint.run.{RunAccess, WorkFolder}
import io.bucketstate.checkpoint.snapshot.{FamilySchemas, SnapshotPlan, SnapshotTarget, Snapshotter}
import io.bucketstate.config.{MetricKey, StoreConfig}
import io.bucketstate.store.{
  Background,
  BucketLoading,
  DueSnapshot,
  SnapshotScheduler,
  TableKeeper,
  Ticker
}
import io.bucketstate.table.VersionedTable

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
  private[this] val loading = new BucketLoading(config.numBuckets)
  @volatile private[this] var keeper: TableKeeper = _
  @volatile private[this] var restoredFrom: Option[Manifest] = None
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
    table => if (config.restoreEagerly) loading.now(table)
  )

  /** Version of the newest snapshot that was made, -1 if there was none. */
  def newestVersion: Long = newest

  /** Data files that a snapshot under way builds on. */
  def inFlight: Set[String] = snapshotter.inFlight

  /** The keeper has loaded its table. */
  def restored(by: TableKeeper, recovered: Recovered): Unit = {
    keeper = by
    restoredFrom = recovered.manifest
    scheduler.restored(recovered)
    // Not before: the first bucket that a batch waits for is to have the machine for itself.
    recovered.table.onFirstTouch(() => warmUp(by, recovered.table))
  }

  /** Loads what is not in memory yet, in the background. */
  private def warmUp(by: TableKeeper, table: VersionedTable): Unit =
    loading.later(table, () => by.isCurrent(table))

  /** A version became durable. */
  def checkpointed(table: VersionedTable, changelogBytes: Long): Unit = {
    scheduler.checkpointed(table.newest, changelogBytes)
    // A batch that touched nothing: snapshots and retention want the table in memory all the same.
    table.beginWarmUp()
  }

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
  def drainFigures(version: Long): Map[MetricKey, Long] = scheduler.drainFigures(version)

  /** Ends what goes on in the background, and lets go of what is native. */
  def close(): Unit = {
    loading.stop()
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
