package io.bucketstate.store

import java.util.UUID
import java.util.concurrent.atomic.AtomicReference

import scala.util.control.NonFatal

import org.slf4j.LoggerFactory

import io.bucketstate.background.{Background, Patience, Ticker}
import io.bucketstate.checkpoint.io.{Attempt, Closing}
import io.bucketstate.checkpoint.manifest.{Checkpoint, Manifest, ManifestState}
import io.bucketstate.checkpoint.records.BucketSource
import io.bucketstate.checkpoint.recovery.Recovered
import io.bucketstate.checkpoint.snapshot.{AloneState, SnapshotPlan, SnapshotTarget, Snapshotter}
import io.bucketstate.config.{MetricKey, StoreConfig}
import io.bucketstate.error.BucketstateException
import io.bucketstate.rocksdb.follower.StoreDatabase

/**
 * The snapshots of one store: of what they are made, when, and who is told of them. Thread-safe.
 *
 * @param keeper     has the state in memory, as far as it is there
 * @param database   has the rest, where that is not left in the runs
 * @param checkpoint its runs are closed with this; its trust is told of manifests that are new, and of those that lead to
 *                   damage
 */
private[bucketstate] final class StoreSnapshots(
    keeper: TableKeeper,
    database: Option[StoreDatabase],
    checkpoint: Checkpoint,
    config: StoreConfig,
    host: StoreHost,
    ticker: Ticker
) {
  import checkpoint.{runs, trust}

  private[this] val location = checkpoint.folder.location // for messages
  private[this] val log = LoggerFactory.getLogger(classOf[StoreSnapshots])
  private[this] val snapshotter =
    new Snapshotter(checkpoint, host.name, host.schemasOf, config.maxRuns, config.maxMergeBytes)
  private[this] val scheduler = new SnapshotScheduler(
    snapshotter,
    SnapshotPlan(
      config.snapshotMaxVersions,
      config.snapshotMaxBytes,
      // With snapshots in commits nothing is made in the background.
      compactsBeside = !config.spark.unloadOnCommit && !config.snapshotsInCommit
    ),
    location,
    published,
    () => hasNoCheckpoint,
    Patience(StoreSnapshots.WaitMs, ticker, () => host.requireAlive()),
    Background.ofProcess(ticker)
  )
  @volatile private[this] var restoredFrom: Option[Manifest] = None
  private[this] val untold = new AtomicReference(Option.empty[Manifest])
  @volatile private[this] var latest = Option.empty[Manifest] // that was made or restored from
  @volatile private[this] var newest = -1L
  @volatile private[this] var builtOn = (Attempt(0L), Option.empty[UUID]) // and its commit

  /** Version of the newest snapshot that was made, -1 if there was none. */
  def newestVersion: Long = newest

  /** How many keys a family held when a snapshot last counted them, if one did. */
  def lastCount(family: Int): Option[Long] = latest.flatMap(_.lastCount(family)).map(_.keys)

  /** Data files that a snapshot under way builds on, or the table reads what it does not hold from. */
  def inUse: Set[String] = snapshotter.inFlight ++ keeper.coldParts.flatMap {
    case state: ManifestState => state.fileNames
    case _                    => Set.empty[String]
  }

  /** The keeper has loaded its table. */
  def restored(recovered: Recovered): Unit = {
    restoredFrom = recovered.manifest
    latest = recovered.manifest
    untold.set(recovered.manifest)
    scheduler.restored(recovered)
  }

  /**
   * A batch goes on from what the keeper has loaded. Spark counts snapshots by runs of a query, and must not take the store
   * for one that never had any. Of what is only read it hears nothing: it would never forget that.
   */
  def goesOn(): Unit = untold.getAndSet(None).foreach { manifest =>
    try host.snapshotMade(manifest.version)
    catch {
      case NonFatal(e) => log.warn(s"After ${manifest.file.name} of $location was loaded", e)
    }
  }

  /** A version became durable. */
  def checkpointed(version: Long, changelogBytes: Long): Unit =
    scheduler.checkpointed(version, changelogBytes)

  /** The snapshot to be taken now that Spark has opened a version for the next batch. O(1). */
  def due(version: Attempt): Option[DueSnapshot] = {
    builtOn = (version, keeper.commitOf(version.version))
    // When it begins, newer versions may have been built on.
    Option.when(scheduler.opened(version.version)) {
      new DueSnapshot(() => {
        val (newest, commitId) = builtOn
        targetOf(newest, commitId)
      })
    }
  }

  /** One is due as soon as there is anything new: for whoever needs what it covers out of memory. */
  def flush(): Unit = scheduler.flush()

  def submit(snapshot: DueSnapshot): Unit = scheduler.submit(snapshot)

  def run(snapshot: DueSnapshot): Unit = scheduler.run(snapshot)

  def giveUp(snapshot: DueSnapshot): Unit = scheduler.giveUp(snapshot)

  /** A snapshot of a version that the caller must have, also if nothing is built on it yet. */
  def force(version: Attempt): Unit = {
    val target = targetOf(version, keeper.commitOf(version.version))
    try scheduler.force(target)
    finally target.release()
  }

  /** Makes a version that is a manifest by itself. */
  def alone(state: AloneState, mayReplace: Boolean): Manifest = scheduler.alone(state, mayReplace)

  private def targetOf(version: Attempt, commitId: Option[UUID]): SnapshotTarget = {
    val (memory, release) =
      keeper.capture(version, commitId).orElse(ofDatabase(version, commitId)).unzip
    SnapshotTarget(
      version,
      commitId,
      memory,
      release.getOrElse(() => ()),
      doubted = () => keeper.doubt()
    )
  }

  /** The source is a native snapshot, which stops nothing, as for full snapshots of Flink's RocksDB backend. */
  private def ofDatabase(version: Attempt, commitId: Option[UUID]) =
    database.flatMap(_.stateAt(version, commitId)).map { state =>
      val release = () => state.release()
      BucketSource.ofCold(state.written.families.map(_.descriptor.id), state) -> release
    }

  /** Figures since the last call, and of now. */
  def drainFigures(version: Long): Map[MetricKey, Long] = scheduler.drainFigures(version)

  /** Heap that is kept of the open files, in bytes. */
  def heapBytes: Long = runs.heapBytes

  /**
   * Ends what goes on in the background, and lets go of the files.
   *
   * @param finish whether a snapshot that is due is finished, because there is no later batch to try it again
   */
  def close(finish: Boolean): Unit = Closing.all(
    Seq[AutoCloseable](
      () => if (finish) scheduler.finish(),
      () => scheduler.close(),
      () => closeRuns()
    )
  )

  private def closeRuns(): Unit =
    try runs.close()
    catch { case NonFatal(e) => log.warn(s"Working files of $location may be left", e) }

  private def hasNoCheckpoint: Boolean =
    try checkpoint.folder.list().isEmpty
    catch { case _: BucketstateException => false }

  private def published(manifest: Manifest): Unit = {
    latest = Some(manifest)
    newest = manifest.version
    try {
      trust.renewed(manifest.file)
      val isNeeded = !database.exists(_.leads)
      // A table may have been loaded anew because of a file that this one still names.
      if (isNeeded && trust.wrongWith(manifest).isEmpty)
        keeper.advance(
          manifest.attempt,
          manifest.commitId,
          new ManifestState(manifest, () => runs.readers, trust.failed(manifest.file, _))
        )
      database.foreach(_.published(manifest))
      // What is not in memory yet is read from the files that the table was restored from.
      val needed =
        if (keeper.isLoading) restoredFrom.fold(Set.empty[String])(_.fileNames) else Set.empty
      runs.retain(manifest.fileNames ++ needed ++ inUse)
      if (keeper.isResident || !isNeeded) runs.shed()
      host.snapshotMade(manifest.version)
    } catch {
      case NonFatal(e) => log.warn(s"After the snapshot ${manifest.file.name} of $location", e)
    }
  }
}

private object StoreSnapshots {

  /**
   * Longer than a snapshot should take that a batch waits for. One of a large state may well take longer than a task waits
   * for another one to let go of a store.
   */
  private final val WaitMs = 600000L
}
