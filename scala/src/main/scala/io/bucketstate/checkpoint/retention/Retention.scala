package io.bucketstate.checkpoint.retention

import java.time.Clock

import scala.collection.mutable
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
import io.bucketstate.checkpoint.manifest.{Manifest, ManifestTrust, Manifests}
import io.bucketstate.error.{BucketstateException, CorruptException, MissingException}

/**
 * @param failed     what could not be deleted; a later run will find it again
 * @param unreadable manifests that could not be read, and why: no data file goes while one is kept
 * @param lowest     the oldest version of which a changelog or a manifest is left that no pinned version needs, if any is
 */
final case class RetentionReport(
    deleted: Seq[Deletion],
    failed: Seq[(Deletion, BucketstateException)],
    unreadable: Seq[(ManifestName, BucketstateException)] = Nil,
    lowest: Option[Long] = None
)

/**
 * Carries out a [[RetentionPlan]].
 *
 * @param trust what is known of damage: nothing that is older goes for the sake of a manifest that leads to some
 */
final class Retention(
    folder: FileStore,
    clock: Clock,
    rules: RetentionRules,
    trust: ManifestTrust = new ManifestTrust
) {
  private[this] val manifests = new Manifests(folder)

  /**
   * Throws only what `pinned` throws, `UnavailableException` when the files cannot be listed or a changelog be looked at, and
   * `CorruptException` where that is of a newer format: then nothing was deleted. Nor is anything while no file of the newest
   * version is there.
   *
   * @param latest   the newest version that Spark has built on
   * @param inFlight must be complete for this store before the files are listed: the names of data
   *                 files that are uploaded or merged from by a snapshot that is under way
   * @param pinned   asked for when there is something to delete
   */
  def run(
      latest: Long,
      inFlight: Set[String] = Set.empty,
      winners: WinningIds = WinningIds.WithoutIds,
      pinned: () => Seq[Pinned] = () => Nil
  ): RetentionReport = {
    val files = folder.listAll()
    if (hasVersion(files, latest)) run(files, latest, inFlight, winners, pinned)
    else RetentionReport(Nil, Nil)
  }

  /**
   * Whether the newest version is there: else the query was taken back behind it, and what this version lets go may be what
   * the versions need that are made since.
   */
  private def hasVersion(files: Seq[ListedFile], version: Long): Boolean =
    versionsOf(files.iterator.map(_.name)).contains(version)

  /** Those that changelogs and manifests are of. */
  private def versionsOf(names: Iterator[String]): Iterator[Long] =
    names.flatMap(CheckpointFiles.parse).collect { case file: VersionedFile => file.version }

  private def run(
      files: Seq[ListedFile],
      latest: Long,
      inFlight: Set[String],
      winners: WinningIds,
      pinned: () => Seq[Pinned]
  ): RetentionReport = {
    val found = new Found(files)
    val window = Pinned(rules.oldest(latest), winners)
    def planned(known: Seq[KnownManifest], pins: Seq[Pinned]) =
      RetentionPlan(files, known, latest, rules, clock.instant(), inFlight, winners, pins)
    val unpinned = planned(found.known(Seq(window)), Nil)
    val pins = if (unpinned.isEmpty) Nil else pinned()
    val known = found.known(window +: pins)
    val plan = if (pins.isEmpty) unpinned else planned(known, pins)
    val failures = folder.deleteAll(plan.map(_.name)).toMap
    val (failed, deleted) = plan.partitionMap { deletion =>
      failures.get(deletion.name).map(deletion -> _).toLeft(deletion)
    }
    val passed = deleted.iterator.map(_.name).toSet ++ RetentionPlan.held(files, known, pins)
    val left = versionsOf(files.iterator.map(_.name).filterNot(passed))
    RetentionReport(deleted, failed, found.unreadable, left.minOption)
  }

  /** What is in the manifests among these files. Each is read once, and so is what tells whether it is stale. */
  private final class Found(files: Seq[ListedFile]) {
    private[this] val lengths = files.iterator.map(listed => listed.name -> listed.length).toMap
    private[this] val failed = ArrayBuffer.empty[(ManifestName, BucketstateException)]
    private[this] val stale = mutable.HashMap.empty[ManifestName, Boolean]
    private[this] val newestFirst = RetentionPlan.manifestsOf(files).map(file => file -> read(file))

    /** Those that could not be read. */
    def unreadable: Seq[(ManifestName, BucketstateException)] = failed.toSeq

    /** @param needed versions that are to stay loadable: what they are loaded from must not be stale, nor damaged */
    def known(needed: Seq[Pinned]): Seq[KnownManifest] = {
      val known = ArrayBuffer.empty[KnownManifest]
      var searching = needed
      newestFirst.foreach { case (file, manifest) =>
        // Only what everything older could be forgotten for needs to be known that well.
        val mayBeBase = searching.exists(file.version <= _.version)
        val isPassed = mayBeBase && manifest.exists { m =>
          trust.wrongWith(m).nonEmpty || stale.getOrElseUpdate(file, isStale(m))
        }
        known += KnownManifest(file, manifest.map(_.fileNames), isPassed)
        if (mayBeBase) searching = searching.filter(RetentionPlan.base(files, known, _) == 0)
      }
      known.toSeq
    }

    private def read(file: ManifestName): Option[Manifest] =
      try Some(manifests.read(file, lengths.get(file.name)))
      catch {
        case e: BucketstateException =>
          failed += file -> e
          None
      }
  }

  /**
   * Whether what the manifest holds was replaced since: the version's own changelog is of another commit, or the next version
   * was built on something else. Recovery asks the first where the version itself is wanted and the second where a later
   * one is, and the next version's changelog may be of an attempt that comes to nothing: so both must be right.
   */
  private def isStale(manifest: Manifest): Boolean =
    manifest.checkpointId.isEmpty &&
      (differs(manifest.version)(manifest.covers) ||
        differs(manifest.version + 1)(manifest.isBaseOf))

  /**
   * Whether the changelog of a version is not the one that it should be. Of which commit a damaged one was, nobody can tell:
   * where it is taken for another one, more stays.
   */
  private def differs(version: Long)(isRight: ChangelogHeader => Boolean): Boolean =
    try !isRight(ChangelogReader.readHeader(folder, Attempt(version)))
    catch {
      case _: MissingException               => false
      case e: CorruptException if !e.isNewer => true
    }
}
