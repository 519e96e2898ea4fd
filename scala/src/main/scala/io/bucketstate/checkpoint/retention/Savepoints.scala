package io.bucketstate.checkpoint.retention

import java.util.concurrent.ConcurrentHashMap

import io.bucketstate.checkpoint.io.FileStore
import io.bucketstate.error.MissingException

/**
 * The savepoints of a checkpoint, for all of its stores in this process: they ask in turn, and share what was listed for
 * the first of them as far as that is new enough for the others. A file that was read is not read again. Thread-safe.
 *
 * @param nanos of the clock that `since` is of
 */
final class Savepoints(nanos: () => Long) {
  private[this] var listed = Option.empty[Savepoints.Listed]

  /**
   * Throws `CorruptException` if one cannot be understood, and `UnavailableException`: then nobody knows what is held.
   *
   * @param since  they are listed when this moment has come, or later
   * @param folder opened when it is to be listed, and closed
   */
  def asOf(since: Long)(folder: => FileStore): Iterable[Savepoint] = synchronized {
    listed.filter(_.at - since >= 0) match {
      case Some(known) => known.savepoints.values
      case None        =>
        val at = nanos()
        val files = folder
        try {
          val found = read(files, listed.fold(Map.empty[String, Savepoint])(_.savepoints))
          listed = Some(Savepoints.Listed(at, found))
          found.values
        } finally files.close()
    }
  }

  private def read(folder: FileStore, known: Map[String, Savepoint]): Map[String, Savepoint] =
    folder
      .list()
      .map(_.name)
      .filter(SavepointFormat.mayBeOne)
      .flatMap { file =>
        known
          .get(file)
          .orElse {
            try Some(SavepointFormat.decode(folder.read(file), file, s"${folder.location}/$file"))
            catch { case _: MissingException => None } // dropped since it was listed
          }
          .map(file -> _)
      }
      .toMap
}

object Savepoints {

  /** Below the folder of a query's checkpoint. */
  val Folder = "_bucketstate/savepoints"

  /**
   * @param at         when listing began
   * @param savepoints by the names of their files
   */
  private final case class Listed(at: Long, savepoints: Map[String, Savepoint])

  /** Those of several checkpoints, by their folders. */
  final class OfCheckpoints(nanos: () => Long) {
    private[this] val each = new ConcurrentHashMap[String, Savepoints]

    def of(folder: String): Savepoints = each.computeIfAbsent(folder, _ => new Savepoints(nanos))
  }
}
