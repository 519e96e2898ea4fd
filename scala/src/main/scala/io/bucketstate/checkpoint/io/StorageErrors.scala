package io.bucketstate.checkpoint.io

import java.io.{FileNotFoundException, IOException, UncheckedIOException}
import java.nio.file.{DirectoryIteratorException, NoSuchFileException}

import org.apache.hadoop.fs.FSError

import io.bucketstate.config.ConfigKey
import io.bucketstate.error.{CorruptException, MissingException, UnavailableException}

/** What the storage reports, told in the project's own terms, the same for every `FileStore`. */
private[bucketstate] object StorageErrors {
  private val Reachable =
    "Check that the checkpoint's file system is reachable, writable and not full; the same task may succeed when " +
      "it is tried again."

  /** Runs `body`, which reads; what is not about storage passes unchanged. */
  def translate[A](path: String, problem: String)(body: => A): A =
    try changing(path, problem)(body)
    catch {
      case e: UnavailableException if isMissing(e.getCause) =>
        throw new MissingException(
          path,
          s"it $problem (${e.getCause.getMessage})",
          "If nobody removed it by hand, the version it belongs to was never committed or is past " +
            "spark.sql.streaming.minBatchesToRetain; restore it from a backup or start from a " +
            "version that is there.",
          e.getCause
        )
    }

  /** Runs `body`, which creates, writes or deletes: there it is no answer that something is missing. */
  def changing[A](path: String, problem: String)(body: => A): A =
    telling(path, problem, Reachable)(body)

  /** What could not be done, for the storage's reason. */
  def unavailable(path: String, problem: String, cause: IOException): UnavailableException =
    new UnavailableException(path, s"$problem: $cause", Reachable, cause)

  /** Runs `body`, which is about a store's working files: the remedy is room on a local disk. */
  def working[A](path: String, problem: String)(body: => A): A =
    telling(
      path,
      problem,
      s"Make room on the disk of that folder, or set ${ConfigKey.LocalDir.key} (spark.local.dir, where that is " +
        s"'${ConfigKey.LocalDir.default}') to one that has more; the same task may succeed when it is tried again."
    )(body)

  private def telling[A](path: String, problem: String, remedy: String)(body: => A): A = {
    def told(cause: IOException) =
      new UnavailableException(path, s"$problem: $cause", remedy, cause)
    try body
    catch {
      case e: IOException => throw told(e)
      // What iterators throw, which may throw nothing else.
      case e: DirectoryIteratorException => throw told(e.getCause)
      case e: UncheckedIOException       => throw told(e.getCause)
      // What a disk refuses is no exception of Hadoop's local file system, but an error.
      case e: FSError =>
        throw new UnavailableException(path, s"$problem: ${e.getCause}", remedy, e)
    }
  }

  private def isMissing(cause: Throwable): Boolean = cause match {
    case _: FileNotFoundException | _: NoSuchFileException => true
    case _                                                 => false
  }

  def tooShort(path: String, position: Long, count: Int, cause: Throwable): CorruptException =
    new CorruptException(
      path,
      s"expected $count bytes at position $position, but the file ends before that",
      Damage.Remedy,
      cause
    )
}
