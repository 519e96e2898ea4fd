package io.bucketstate.checkpoint.changelog

import java.io.ByteArrayOutputStream
import java.util.LinkedHashMap

import io.bucketstate.checkpoint.io.{Attempt, FileStore}

/**
 * The changelogs that this process committed last to an object store, as long as they are few bytes: a
 * snapshot of its own versions need not ask for them. They are what memory was made of, so they are given
 * up with it. Thread-safe.
 */
final class RecentChangelogs(folder: FileStore) {
  import RecentChangelogs._

  private[this] val kept = new LinkedHashMap[Attempt, Array[Byte]]
  private[this] var bytes = 0L

  /** The version's changelog is there. */
  def committed(file: Attempt, content: EncodedChangelog): Unit =
    if (folder.isObjectStore) synchronized {
      remove(file)
      if (content.length <= MostBytes) {
        val copy = new ByteArrayOutputStream(content.length.toInt)
        content.writeTo(copy)
        kept.put(file, copy.toByteArray)
        bytes += content.length
        while (bytes > MostBytes) remove(kept.keySet.iterator.next())
      }
    }

  /** Memory was made anew, of what lies in the files. */
  def forget(): Unit = synchronized {
    kept.clear()
    bytes = 0L
  }

  /** For reading some blocks, as `ChangelogReader.open`. */
  def open(file: Attempt): ChangelogReader =
    synchronized(Option(kept.get(file))) match {
      case Some(content) => ChangelogReader.of(folder, file, content)
      case None          => ChangelogReader.open(folder, file)
    }

  private def remove(file: Attempt): Unit =
    Option(kept.remove(file)).foreach(content => bytes -= content.length)
}

private object RecentChangelogs {

  /** What is kept for one store, at most. Where a batch changes more, a request for each is little beside it. */
  private final val MostBytes = 128L * 1024
}
