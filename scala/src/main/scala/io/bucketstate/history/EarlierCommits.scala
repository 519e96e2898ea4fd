package io.bucketstate.history

import scala.annotation.tailrec

import io.bucketstate.checkpoint.changelog.{ChangelogHeader, ChangelogReader, Lineage}
import io.bucketstate.checkpoint.io.{Attempt, FileStore}
import io.bucketstate.checkpoint.manifest.StoredVersion
import io.bucketstate.error.{CorruptException, MissingException}

/** Commits that are older than what memory knows of, as the files of their versions name them. Thread-safe. */
private[bucketstate] final class EarlierCommits(folder: FileStore) {

  /**
   * The commits from one on and before another one, each the base of the next; none if there is no such way, or its
   * changelogs are gone, or the first is not of one state: see [[isOfOneState]]. The first may be of a version without a
   * changelog. One small read for each. Throws `UnavailableException`.
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
        if (isWay && isOfOneState(from)) all.drop(1).reverse else Vector.empty
      } catch { case _: MissingException | _: CorruptException => Vector.empty }

  /**
   * Whether all that were ever at a commit have the same state, as far as the changelogs tell that are still there. With
   * checkpoint format 1 an attempt that was given up for lost may have replaced one after the next version was built on it.
   * Then later commits stand for two states: of whoever has read that file before, and of whoever has read it since. One
   * small read for each version up to the commit that has a changelog. Throws `UnavailableException`.
   */
  def isOfOneState(point: CommitPoint): Boolean =
    try
      // A name with an id is never written twice.
      point.attempt.checkpointId.isDefined ||
        headerOf(point.version).forall(isBuiltOnFiles(point.version, _))
    catch { case _: CorruptException => false }

  /** Whether each changelog names the one below it, from this one down to where one is gone. */
  @tailrec
  private def isBuiltOnFiles(version: Long, header: ChangelogHeader): Boolean =
    headerOf(version - 1) match {
      case Some(before) =>
        header.baseId.forall(_ == before.commitId.toString) && isBuiltOnFiles(version - 1, before)
      case None => true
    }

  /** The header of a changelog without an id; None where there is none. */
  private def headerOf(version: Long): Option[ChangelogHeader] =
    if (version == 0) None
    else
      try Some(ChangelogReader.readHeader(folder, Attempt(version)))
      catch { case _: MissingException => None }

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
