package io.bucketstate.history

import io.bucketstate.checkpoint.changelog.{ChangelogHeader, ChangelogReader, Lineage}
import io.bucketstate.checkpoint.io.{Attempt, FileStore}
import io.bucketstate.checkpoint.manifest.StoredVersion
import io.bucketstate.error.{CorruptException, MissingException}

/** Commits that are older than what memory knows of, as the files of their versions name them. Thread-safe. */
private[bucketstate] final class EarlierCommits(folder: FileStore) {

  /**
   * The commits from one on and before another one, each the base of the next; none if there is no such way, or its
   * changelogs are gone. The first may be of a version without one. One small read for each. Throws `UnavailableException`.
   */
  def between(from: CommitPoint, to: CommitPoint): Vector[CommitPoint] =
    if (from.reading != 0L || to.reading != 0L)
      Vector.empty // files were replaced: they name other bases
    else
      try {
        val lineage = Lineage.of(folder, to.attempt)(_.version <= from.version)
        val newestFirst =
          lineage.changelogs.map(file => file -> ChangelogReader.readHeader(folder, file))
        val points = newestFirst.map { case (file, header) =>
          CommitPoint(file, Some(header.commitId))
        }
        val all = (points :+ pointOf(lineage.base)).toVector
        val isWay = all.headOption.contains(to) && all.lastOption.contains(from) &&
          newestFirst.zip(all.drop(1)).forall { case ((file, header), before) =>
            EarlierCommits.names(file, header, before)
          }
        if (isWay) all.drop(1).reverse else Vector.empty
      } catch { case _: MissingException | _: CorruptException => Vector.empty }

  private def pointOf(attempt: Attempt): CommitPoint =
    if (attempt.version == 0) CommitPoint.Empty
    else CommitPoint(attempt, StoredVersion.of(folder, attempt).commitId)
}

private[bucketstate] object EarlierCommits {

  /** Whether a changelog with this header was made on top of that commit, as far as the header tells. */
  def names(file: Attempt, header: ChangelogHeader, base: CommitPoint): Boolean =
    if (file.checkpointId.isDefined) header.baseId == base.attempt.checkpointId
    else header.baseId.forall(id => base.commitId.exists(_.toString == id))
}
