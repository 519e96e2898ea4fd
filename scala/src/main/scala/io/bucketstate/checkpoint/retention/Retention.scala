package io.bucketstate.checkpoint.retention

import java.time.Clock

import scala.collection.mutable.ArrayBuffer

import io.bucketstate.checkpoint.changelog.{ChangelogHeader, ChangelogReader}
import io.bucketstate.checkpoint.io.{
  Attempt,
  CheckpointFiles,
  FileStore,
  ListedFile,
  ManifestName,
  VersionedFile
}
import io.bucketstate.checkpoint.manifest.{Manifest, Manifests}
import io.bucketstate.error.{BucketstateException, MissingException}

/**
 * @param failed     what could not be deleted; a later run will find it again
 * @param unreadable manifests that could not be read, and why: no data file goes while one is kept
 * @param lowest     the oldest version of which a changelog or a manifest is left, if any is
 */
final case class RetentionReport(
    deleted: Seq[Deletion],
    failed: Seq[(Deletion, BucketstateException)],
    unreadable: Seq[(ManifestName, BucketstateException)] = Nil,
    lowest: Option[Long] = None
)

/** Carries out a [[RetentionPlan]]. */
final class Retention(folder: FileStore, clock: Clock, rules: RetentionRules) {
  private[this] val manifests = new Manifests(folder)

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
    val files = folder.listAll()
    val unreadable = ArrayBuffer.empty[(ManifestName, BucketstateException)]
    val known = read(files, latest, winners, unreadable)
    val plan = RetentionPlan(files, known, latest, rules, clock.instant(), inFlight, winners)
    val failures = folder.deleteAll(plan.map(_.name)).toMap
    val (failed, deleted) = plan.partitionMap { deletion =>
      failures.get(deletion.name).map(deletion -> _).toLeft(deletion)
    }
    val gone = deleted.iterator.map(_.name).toSet
    val left = files.iterator.map(_.name).filterNot(gone).flatMap(CheckpointFiles.parse)
    val versions = left.collect { case file: VersionedFile => file.version }
    RetentionReport(deleted, failed, unreadable.toSeq, versions.minOption)
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
    val lengths = files.iterator.map(listed => listed.name -> listed.length).toMap
    RetentionPlan.manifestsOf(files).foreach { file =>
      val manifest =
        try Some(manifests.read(file, lengths.get(file.name)))
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

  /**
   * Whether what the manifest holds was replaced since: the next version was built on something else, or,
   * where there is none yet, the version's own changelog is of another commit.
   */
  private def isStale(manifest: Manifest): Boolean =
    manifest.checkpointId.isEmpty &&
      header(manifest.version + 1)
        .map(next => !manifest.isBaseOf(next))
        .orElse(header(manifest.version).map(own => !manifest.covers(own)))
        .getOrElse(false)

  private def header(version: Long): Option[ChangelogHeader] =
    try Some(ChangelogReader.readHeader(folder, Attempt(version)))
    catch { case _: MissingException => None }
}
