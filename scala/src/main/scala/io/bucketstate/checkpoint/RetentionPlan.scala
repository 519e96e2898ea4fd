package io.bucketstate.checkpoint

import java.time.{Duration, Instant}

import io.bucketstate.checkpoint.CheckpointFiles.{Changelog, Temporary}

/** A file that nothing needs any more, and why. */
final case class Deletion(name: String, reason: String)

/**
 * Which files can go. A file that this does not understand stays: it is not ours to delete.
 *
 * Every version from `latest - minVersionsToRetain + 1` on must remain loadable. The oldest of them
 * is loaded from the newest self-contained version at or below it and the changelogs after that; only
 * changelogs up to that version are free to go. Without any self-contained version the base is the
 * empty store, and every changelog since version 1 is needed: then only abandoned temporary files go.
 */
object RetentionPlan {

  /** Longer than any write takes that is still alive. */
  val DefaultGrace: Duration = Duration.ofHours(1)

  /**
   * @param selfContained versions that can be loaded without the changelogs up to them
   * @param now           compared with the files' times of modification
   * @param grace         how old a temporary file must be before its writer is taken for dead
   */
  def apply(
      files: Iterable[ListedFile],
      latest: Long,
      minVersionsToRetain: Int,
      selfContained: Iterable[Long],
      now: Instant,
      grace: Duration = DefaultGrace
  ): Seq[Deletion] = {
    val oldest = math.max(0L, latest - math.max(1, minVersionsToRetain) + 1)
    val base = RecoveryPlan.to(oldest, selfContained).base
    val abandonedBefore = now.minus(grace).toEpochMilli
    files.iterator.flatMap { file =>
      CheckpointFiles.parse(file.name).collect {
        case Changelog(version, _) if version <= base =>
          val why = s"the oldest version to retain is $oldest, and version $base needs no changelog"
          Deletion(file.name, why)
        case _: Temporary if file.modifiedAt < abandonedBefore =>
          val age = s"its write has been unfinished since ${Instant.ofEpochMilli(file.modifiedAt)}"
          Deletion(file.name, s"$age, longer than $grace")
      }
    }.toSeq
  }
}
