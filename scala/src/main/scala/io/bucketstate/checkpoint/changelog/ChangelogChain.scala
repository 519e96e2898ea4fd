package io.bucketstate.checkpoint.changelog

import java.util.UUID

import org.slf4j.LoggerFactory

import io.bucketstate.checkpoint.io.{Attempt, FileStore}
import io.bucketstate.error.CorruptException

/**
 * Changelogs one version after the other, as far as their headers tell whether each was built on the one before it.
 *
 * With checkpoint format 1, an attempt that was given up for lost may replace a version's file after the next version was
 * built on it. Such a file is used: it ran the same batch on the same base, and is all there is; with format 2 it could
 * not have happened. A file that was not even built on the one before it is of another history, and an error.
 *
 * For one thread.
 *
 * @param before the commit that the first one should be built on; None where that is not known
 */
private[checkpoint] final class ChangelogChain(folder: FileStore, before: Option[UUID]) {
  private[this] val log = LoggerFactory.getLogger(classOf[ChangelogChain])
  private[this] var last = before
  private[this] var fitted = true // whether the file before was built on the one before it

  /** Whether the next file is built on the one before it. Throws `CorruptException` where it is of another history. */
  def fits(file: Attempt, header: ChangelogHeader): Boolean = {
    val base = if (header.checkpointId.isEmpty) header.baseId else None
    val fits = base.forall(id => last.forall(_.toString == id))
    if (!fits && !fitted) throw ofAnotherHistory(file, base)
    if (!fits) log.warn(replacedLater(file, base))
    fitted = fits
    last = Some(header.commitId)
    fits
  }

  private def ofAnotherHistory(file: Attempt, base: Option[String]): CorruptException =
    Lineage.corrupt(
      folder,
      file,
      s"expected version ${file.version} to be built on commit ${last.mkString} of version " +
        s"${file.version - 1}, found it built on ${base.mkString}; the file before it does not fit its " +
        "own base either, so a file was replaced by one of another history"
    )

  private def replacedLater(file: Attempt, base: Option[String]): String =
    s"${folder.location}/${file.changelog} was built on commit ${base.mkString}, but the file of version " +
      s"${file.version - 1} is of commit ${last.mkString}: another attempt at the same batch has replaced it since. " +
      "spark.sql.streaming.stateStore.checkpointFormatVersion=2 keeps attempts apart."
}
