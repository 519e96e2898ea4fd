package io.bucketstate.checkpoint

import java.io.{FileNotFoundException, IOException}
import java.nio.file.NoSuchFileException

import io.bucketstate.error.{CorruptException, MissingException, UnavailableException}

/** What the storage reports, told in the project's own terms, the same for every `FileStore`. */
private[checkpoint] object StorageErrors {

  /** Runs `body`; what is not about storage passes unchanged. */
  def translate[A](path: String, problem: String)(body: => A): A =
    try body
    catch {
      case e @ (_: FileNotFoundException | _: NoSuchFileException) =>
        throw new MissingException(
          path,
          s"it $problem (${e.getMessage})",
          "If nobody removed it by hand, the version it belongs to was never committed or is past " +
            "spark.sql.streaming.minBatchesToRetain; restore it from a backup or start from a " +
            "version that is there.",
          e
        )
      case e: IOException =>
        throw new UnavailableException(
          path,
          s"$problem: $e",
          "Check that the checkpoint's file system is reachable, writable and not full; the same " +
            "task may succeed when it is tried again.",
          e
        )
    }

  def tooShort(path: String, position: Long, count: Int, cause: Throwable): CorruptException =
    new CorruptException(
      path,
      s"expected $count bytes at position $position, but the file ends before that",
      Damage.Remedy,
      cause
    )
}
