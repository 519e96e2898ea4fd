package io.bucketstate.checkpoint.run.read

import java.util.concurrent.ConcurrentHashMap

import scala.jdk.CollectionConverters._

import io.bucketstate.checkpoint.io.Closing
import io.bucketstate.checkpoint.run.RunFile

/**
 * Readers of a store's files, which are opened when they are first wanted, and stay open until they are given up.
 * Thread-safe; to get one that is open waits for nobody.
 */
private[read] final class OpenReaders(open: RunFile => RunFileReader) extends AutoCloseable {
  private[this] val readers = new ConcurrentHashMap[String, RunFileReader] // by the file's name
  private[this] var closed = false

  /** Holds a file open while it is read from: another thread may give it up at any moment. */
  def using[A](file: RunFile)(read: RunFileReader => A): A = {
    val reader = held(file)
    try read(reader)
    finally reader.release()
  }

  /**
   * Gives up the files that are not among these; whoever reads from one of them is not disturbed. Returns whether there
   * were any.
   */
  def retain(names: Set[String]): Boolean = synchronized {
    val gone = readers.keySet.asScala.toSeq.filterNot(names).map(name => readers.remove(name))
    Closing.all(gone)
    gone.nonEmpty
  }

  def close(): Unit = synchronized {
    closed = true
    retain(Set.empty)
    ()
  }

  private def held(file: RunFile): RunFileReader = {
    val reader = readers.get(file.name)
    if (reader != null && reader.tryHold()) reader
    // Outside the lock: a fetch may take long, and others want files that are open.
    else kept(file.name, open(file))
  }

  /** Another thread may have opened the same file, or closed all, meanwhile. */
  private def kept(name: String, opened: RunFileReader): RunFileReader = synchronized {
    val first = readers.get(name)
    if (first != null && first.tryHold()) {
      opened.close()
      first
    } else if (closed) {
      opened.close()
      throw new IllegalStateException(s"the readers of $name were closed")
    } else {
      opened.tryHold()
      readers.put(name, opened)
      opened
    }
  }
}
