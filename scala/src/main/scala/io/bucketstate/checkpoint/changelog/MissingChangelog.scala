package io.bucketstate.checkpoint.changelog

import io.bucketstate.checkpoint.io.{
  Attempt,
  CheckpointFiles,
  Damage,
  FileStore,
  ManifestName,
  VersionedFile
}
import io.bucketstate.error.MissingException

/**
 * Explains a changelog that is missing: its version was written with checkpoint ids and sought without, it is a manifest
 * alone, or another version was built on it.
 */
private[checkpoint] final class MissingChangelog(folder: FileStore) {

  /** @param target the version that it is read for */
  def explained[A](file: Attempt, target: Attempt)(read: => A): A =
    try read
    catch { case e: MissingException => throw explanation(file, target, e) }

  /** Lists the folder; for the words of an error only. */
  private def explanation(
      file: Attempt,
      target: Attempt,
      e: MissingException
  ): MissingException = {
    val there = folder.list().iterator.map(f => CheckpointFiles.parse(f.name)).collect {
      case Some(named: VersionedFile) if named.version == file.version => named
    }
    val (own, others) = there.toSeq.partition(_.attempt == file)
    if (own.contains(ManifestName(file))) standsAlone(file, e)
    else if (file.checkpointId.isEmpty && others.nonEmpty) writtenWithIds(file, e)
    else if (file.checkpointId.isDefined && file != target) builtOn(file, target, e)
    else e
  }

  private def standsAlone(file: Attempt, e: MissingException) =
    new MissingException(
      s"${folder.location}/${file.changelog}",
      s"version ${file.version} has no changelog, its state is in ${ManifestName(file).name} alone: " +
        "what led to it is not known, and no older version leads over it",
      s"Read version ${file.version} itself, or changes of later versions.",
      e
    )

  private def writtenWithIds(file: Attempt, e: MissingException) =
    new MissingException(
      s"${folder.location}/${file.changelog}",
      s"version ${file.version} was asked for without a checkpoint id, but was written with one",
      "Run the query with spark.sql.streaming.stateStore.checkpointFormatVersion=2, the setting " +
        "that this version was written with.",
      e
    )

  private def builtOn(file: Attempt, target: Attempt, e: MissingException) =
    new MissingException(
      s"${folder.location}/${file.changelog}",
      s"version ${target.version} with the checkpoint id ${target.idText} is built on version " +
        s"${file.version} with the checkpoint id ${file.idText}, whose changelog is gone",
      Damage.Remedy,
      e
    )
}
