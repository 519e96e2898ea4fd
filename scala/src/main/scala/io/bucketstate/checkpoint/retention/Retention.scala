package io.bucketstate.checkpoint.retention

import java.time.Clock

import scala.collection.mutable.ArrayBuffer

import io.bucketstate.checkpoint.changelog.ChangelogReader
import io.bucketstate.checkpoint.io.{Attempt, CheckpointFiles, FileStore, ListedFile, ManifestName}
import io.bucketstate.checkpoint.manifest.{Manifest, Manifests}
import io.bucketstate.error.{BucketstateException, MissingException}

/**
 * @param failed     what could not be deleted; a later run will find it again
 * @param unreadable manifests that could not be read, and why: no data file goes while one is kept
 */
final case class RetentionReport(
    deleted: Seq[Deletion],
    failed: Seq[(Deletion, BucketstateException)],
    unreadable: Seq[(ManifestName, BucketstateException)] = Nil
)

/** Carries out a [[RetentionPlan]]. */
final class Retention(store: FileStore, clock: Clock, rules: RetentionRules) {
  private[this] val manifests = new Manifests(store)

  /**
   * Throws only when the files cannot be listed.
   *
   * @param inFlight must be complete for this store before the files are listed: the names of data
   *                 files that are uploaded or merged from by a snapshot that is under way
   */
  def run(
      latest: Long,
      inFlight: Set[String] = Set.empty,
      winners: WinningIds = WinningIds.WithoutIds
  ): RetentionReport = {
    val files = CheckpointFiles.Folders.flatMap(store.list)
    val unreadable = ArrayBuffer.empty[(ManifestName, BucketstateException)]
    val known = read(files, latest, winners, unreadable)
    val plan = RetentionPlan(files, known, latest, rules, clock.instant(), inFlight, winners)
    val (failed, deleted) = plan.partitionMap { deletion =>
      try {
        store.delete(deletion.name)
        Right(deletion)
      } catch { case e: BucketstateException => Left(deletion -> e) }
    }
    RetentionReport(deleted, failed, unreadable.toSeq)
  }

  private def read(
      files: Seq[ListedFile],
      latest: Long,
      winners: WinningIds,
      unreadable: ArrayBuffer[(ManifestName, BucketstateException)]
  ): Seq[KnownManifest] = {
    val known = ArrayBuffer.empty[KnownManifest]
    val oldest = rules.oldest(latest)
    var base = 0L
    RetentionPlan.manifestsOf(files).foreach { file =>
      val manifest =
        try Some(manifests.read(file))
        catch {
          case e: BucketstateException =>
            unreadable += file -> e
            None
        }
      // Only what everything older could be forgotten for needs to be known that well.
      val mayBeBase = file.version <= oldest && base == 0
      known += KnownManifest(file, manifest.map(_.fileNames), mayBeBase && manifest.exists(isStale))
      if (mayBeBase) base = RetentionPlan.base(files, known, oldest, winners)
    }
    known.toSeq
  }

  /** Whether the next version was built on something else than what the manifest holds. */
  private def isStale(manifest: Manifest): Boolean =
    manifest.checkpointId.isEmpty && {
      try {
        val next =
          ChangelogReader.readHeader(store, Attempt(manifest.version + 1))
        !manifest.isBaseOf(next)
      } catch { case _: MissingException => false }
    }
}
