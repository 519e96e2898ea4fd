package io.bucketstate.checkpoint.retention
import java.time.{Duration, Instant}

import io.bucketstate.checkpoint.io.{
  ChangelogName,
  CheckpointFile,
  CheckpointFiles,
  ListedFile,
  ManifestName,
  RunName,
  TemporaryName,
  VersionedFile
}

/** A file that nothing needs any more, and why. */
final case class Deletion(name: String, reason: String)

/**
 * A manifest as retention must know it.
 *
 * @param runs       names of the files it needs; `None` if it cannot be read
 * @param passedOver whether nothing is built on it: the version it is of was replaced since, or it is known to be damaged, or
 *                   one of its files
 */
final case class KnownManifest(
    file: ManifestName,
    runs: Option[Set[String]],
    passedOver: Boolean = false
)

/**
 * A version that must stay loadable, however old it is.
 *
 * @param line which attempts led to it
 */
final case class Pinned(version: Long, line: WinningIds)

/**
 * What to keep and how fast to clean up.
 *
 * @param minVersionsToRetain how many of the newest versions must stay loadable
 * @param grace               a file that is needed by nothing known may belong to a write elsewhere
 *                            that is still alive; none lives longer than this
 * @param maxVersionsToDelete the files of how many versions go at once, the oldest first; none or a
 *                            negative number for no limit
 */
final case class RetentionRules(
    minVersionsToRetain: Int,
    grace: Duration = RetentionPlan.DefaultGrace,
    maxVersionsToDelete: Int = -1
) {
  def oldest(latest: Long): Long = math.max(0L, latest - math.max(1, minVersionsToRetain) + 1)
}

/**
 * Which files can go. A file that this does not understand stays: it is not ours to delete.
 *
 * Every version from the oldest retained one on must remain loadable. The oldest is loaded from the
 * ''base'', the newest sound manifest at or below it, and the changelogs after that. So what goes is
 *
 *  - changelogs up to the base, and manifests below it; but not the newest version's changelog, which tells a
 *    retry whether what it has in memory is still what counts;
 *  - files of attempts that lost, of versions below the oldest retained one, past the grace period;
 *  - data files that no manifest names which stays, nor an upload that is under way: at once where a
 *    manifest named them that goes, since their upload is over; else past the grace period; none at
 *    all while a manifest that stays cannot be read, or was not read because its version's turn has
 *    not come;
 *  - temporary files past the grace period.
 *
 * Without a base every changelog since version 1 is needed.
 *
 * So it is with each pinned version: its own base, what lies from that up to it and is of its line, and the data files
 * that those manifests name stay, whatever else goes.
 */
object RetentionPlan {

  /** Longer than any write takes that is still alive. */
  val DefaultGrace: Duration = Duration.ofHours(1)

  /** The manifests among the files, newest first. */
  def manifestsOf(files: Iterable[ListedFile]): Seq[ManifestName] = files.iterator
    .map(file => CheckpointFiles.parse(file.name))
    .collect { case Some(manifest: ManifestName) => manifest }
    .toSeq
    .sortBy(m => -m.version)

  /**
   * @param manifests what is known of the manifests; those not mentioned count as not readable
   * @param latest    the newest version that is known to be durable
   * @param now       compared with the files' times of modification
   * @param inFlight  names of data files that are being uploaded, or about to be named by a manifest
   * @param pins      versions to keep beside the newest ones
   */
  def apply(
      files: Iterable[ListedFile],
      manifests: Iterable[KnownManifest],
      latest: Long,
      rules: RetentionRules,
      now: Instant,
      inFlight: Set[String] = Set.empty,
      winners: WinningIds = WinningIds.WithoutIds,
      pins: Seq[Pinned] = Nil
  ): Seq[Deletion] = {
    val spared = held(files, manifests, pins)
    val plan = new Planning(files, manifests, latest, rules, now, winners, spared)
    val chosen = plan.sparing(plan.within(plan.versioned ++ plan.runs(inFlight)))
    plan.temporaries ++ chosen.map(_.deletion)
  }

  /** Names of the manifests and changelogs that pinned versions need. */
  def held(
      files: Iterable[ListedFile],
      manifests: Iterable[KnownManifest],
      pins: Seq[Pinned]
  ): Set[String] = {
    val parsed = files.iterator.map(file => CheckpointFiles.parse(file.name)).toSeq
    pins.iterator.flatMap { pin =>
      val from = base(files, manifests, pin)
      def leads(file: VersionedFile) =
        file.version <= pin.version && !pin.line.rejects(file.version, file.checkpointId)
      parsed.collect {
        case Some(m: ManifestName) if m.version >= from && leads(m) => m.name
        case Some(c: ChangelogName) if c.version > from && leads(c) => c.name
      }
    }.toSet
  }

  /** The version that everything below a version that is needed can be forgotten for, or 0. */
  def base(
      files: Iterable[ListedFile],
      manifests: Iterable[KnownManifest],
      needed: Pinned
  ): Long = {
    val there = files.iterator.map(_.name).toSet
    manifests.iterator
      .collect {
        case KnownManifest(m, Some(runs), false)
            if m.version <= needed.version && needed.line.owns(m.version, m.checkpointId) &&
              there(m.name) && runs.forall(there) =>
          m.version
      }
      .maxOption
      .getOrElse(0L)
  }

  private final case class Candidate(version: Long, deletion: Deletion)

  private final class Planning(
      files: Iterable[ListedFile],
      manifests: Iterable[KnownManifest],
      latest: Long,
      rules: RetentionRules,
      now: Instant,
      winners: WinningIds,
      held: Set[String]
  ) {
    private val oldest = rules.oldest(latest)
    private val base = RetentionPlan.base(files, manifests, Pinned(oldest, winners))
    private val graceEnd = now.minus(rules.grace).toEpochMilli
    private val covered =
      s"the oldest version to retain is $oldest, and version $base needs nothing older"

    def temporaries: Seq[Deletion] = parsed.collect {
      case (file, _: TemporaryName) if file.modifiedAt < graceEnd =>
        val age = s"its write has been unfinished since ${Instant.ofEpochMilli(file.modifiedAt)}"
        Deletion(file.name, s"$age, longer than ${rules.grace}")
    }

    /** Manifests before changelogs, so that a manifest never outlives what a fallback from it needs. */
    lazy val versioned: Seq[Candidate] = unheld.collect {
      case (f, m: ManifestName) if m.version < base => Candidate(m.version, f, covered)
      case (f, m: ManifestName) if lost(f, m.version, m.checkpointId) =>
        Candidate(m.version, f, losing)
    } ++ unheld.collect {
      case (f, c: ChangelogName) if c.version <= base && c.version < latest =>
        Candidate(c.version, f, covered)
      case (f, c: ChangelogName) if lost(f, c.version, c.checkpointId) =>
        Candidate(c.version, f, losing)
    }

    /**
     * Data files that nothing names once the others are gone; to be checked against what stays. Each has its turn with the
     * last manifest that may name it: before that it would only be in the way of those, where few go at once.
     */
    def runs(inFlight: Set[String]): Seq[Candidate] =
      names(staying(versioned)).fold(Seq.empty[Candidate]) { needed =>
        val gone = versioned.iterator.map(_.deletion.name).toSet
        val going = manifestsOf(files).filter(m => gone(m.name))
        val unknown = going.find(m => known.get(m.name).flatten.isEmpty).fold(0L)(_.version)
        val last = going.reverseIterator
          .flatMap(m => known.get(m.name).flatten.iterator.flatten.map(_ -> m.version))
          .toMap
        parsed.collect {
          case (f, run: RunName)
              if !inFlight(f.name) && !needed(f.name) &&
                (last.contains(f.name) || f.modifiedAt < graceEnd) =>
            val turn = math.max(unknown, last.getOrElse(f.name, run.version))
            Candidate(turn, f, "no manifest that is kept names it")
        }
      }

    /** Takes the data files out again that a manifest names which stays after all. */
    def sparing(chosen: Seq[Candidate]): Seq[Candidate] = {
      val needed = names(staying(chosen))
      chosen.filter { c =>
        CheckpointFiles.parse(c.deletion.name) match {
          case Some(_: RunName) => needed.exists(!_.contains(c.deletion.name))
          case _                => true
        }
      }
    }

    /** All that these manifests need; `None` if one of them is not known. */
    private def names(manifests: Seq[ManifestName]): Option[Set[String]] = {
      val each = manifests.map(m => known.get(m.name).flatten)
      Option.when(each.forall(_.nonEmpty))(each.iterator.flatten.flatten.toSet)
    }

    private def staying(going: Seq[Candidate]): Seq[ManifestName] = {
      val gone = going.iterator.map(_.deletion.name).toSet
      manifestsOf(files).filterNot(m => gone(m.name))
    }

    private lazy val known: Map[String, Option[Set[String]]] =
      manifests.iterator.map(m => m.file.name -> m.runs).toMap

    /** Those of the oldest versions among these. */
    def within(candidates: Seq[Candidate]): Seq[Candidate] =
      if (rules.maxVersionsToDelete <= 0) candidates
      else {
        val versions =
          candidates.map(_.version).distinct.sorted.take(rules.maxVersionsToDelete).toSet
        candidates.filter(c => versions(c.version))
      }

    private lazy val parsed: Seq[(ListedFile, CheckpointFile)] =
      files.iterator.flatMap(f => CheckpointFiles.parse(f.name).map(f -> _)).toSeq

    private lazy val unheld = parsed.filterNot { case (file, _) => held(file.name) }

    private def lost(file: ListedFile, version: Long, id: Option[String]): Boolean =
      version < oldest && winners.rejects(version, id) && file.modifiedAt < graceEnd

    private def losing =
      s"it is of an attempt that lost, and the oldest version to retain is $oldest"

    private object Candidate {
      def apply(version: Long, file: ListedFile, reason: String): RetentionPlan.Candidate =
        RetentionPlan.Candidate(version, Deletion(file.name, reason))
    }
  }
}
