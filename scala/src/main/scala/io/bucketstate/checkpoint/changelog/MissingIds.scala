package io.bucketstate.checkpoint.changelog

import io.bucketstate.checkpoint.io.{Attempt, ChangelogName, CheckpointFiles, FileStore}
import io.bucketstate.error.MissingException

/** Explains a changelog that is missing because it was written with checkpoint ids and sought without. */
private[checkpoint] final class MissingIds(folder: FileStore) {

  def explained[A](file: Attempt)(read: => A): A =
    try read
    catch {
      case e: MissingException if file.checkpointId.isEmpty && writtenWithIds(file.version) =>
        throw new MissingException(
          s"${folder.location}/${file.changelog}",
          s"version ${file.version} was asked for without a checkpoint id, but was written with one",
          "Run the query with spark.sql.streaming.stateStore.checkpointFormatVersion=2, the setting " +
            "that this version was written with.",
          e
        )
    }

  /** Lists the folder; for the words of an error only. */
  private def writtenWithIds(version: Long): Boolean =
    folder.list().iterator.map(f => CheckpointFiles.parse(f.name)).exists {
      case Some(ChangelogName(Attempt(`version`, id))) => id.isDefined
      case _                                           => false
    }
}
