package io.bucketstate.checkpoint.run.open

import scala.collection.mutable

import io.bucketstate.checkpoint.io.Closing
import io.bucketstate.checkpoint.run.RunFile

/**
 * Files of runs that are opened when they are first wanted, and stay open until they are given up.
 * Thread-safe.
 */
private[run] final class OpenRunFiles[F <: OpenRunFile](open: RunFile => F) extends AutoCloseable {
  private[this] val files = mutable.HashMap.empty[String, F] // by name
  private[this] var closed = false

  /** Holds a file open while it is read from: another thread may give it up at any moment. */
  def using[A](file: RunFile)(read: F => A): A = {
    val reader = held(file)
    try read(reader)
    finally reader.release()
  }

  /** Holds a file open for a caller that releases it itself. */
  def held(file: RunFile): F =
    heldIfOpen(file.name) match {
      case Some(reader) => reader
      // Outside the lock: a fetch may take long, and others want files that are open.
      case None => kept(file.name, open(file))
    }

  /**
   * Gives up the files that are not among these; whoever reads from one of them is not disturbed. Returns whether there
   * were any.
   */
  def retain(names: Set[String]): Boolean = synchronized {
    val gone = files.view.filterKeys(!names.contains(_)).toMap
    files --= gone.keys
    Closing.all(gone.values.toSeq)
    gone.nonEmpty
  }

  def all: Seq[F] = synchronized(files.values.toSeq)

  def close(): Unit = synchronized {
    closed = true
    retain(Set.empty)
    ()
  }

  private def heldIfOpen(name: String): Option[F] = synchronized {
    val found = files.get(name)
    if (found.isDefined) found.get.hold()
    found
  }

  /** Another thread may have opened the same file, or closed all, meanwhile. */
  private def kept(name: String, opened: F): F = synchronized {
    heldIfOpen(name) match {
      case Some(first) =>
        opened.close()
        first
      case None if closed =>
        opened.close()
        throw new IllegalStateException(s"the readers of $name were closed")
      case None =>
        files(name) = opened
        opened.hold()
        opened
    }
  }
}
