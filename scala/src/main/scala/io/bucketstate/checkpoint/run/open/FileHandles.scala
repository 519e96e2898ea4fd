package io.bucketstate.checkpoint.run.open

import java.util.concurrent.ConcurrentHashMap

/**
 * The handles that runs' files have open, of all stores of this process, held against a limit: those that were not
 * looked up in for longest give theirs back. A file that somebody holds keeps its own, so while many are held there are
 * more. Thread-safe.
 */
private[run] final class FileHandles {
  private[this] val open = ConcurrentHashMap.newKeySet[OpenRunFile]()
  @volatile private[this] var most = Int.MaxValue

  def count: Int = open.size

  def limit(handles: Int): Unit = {
    most = handles
    closeSome()
  }

  /** It has a handle; its caller holds no lock. */
  def opened(file: OpenRunFile): Unit = {
    open.add(file)
    if (open.size > most) closeSome()
  }

  /** It has none any more. */
  def closed(file: OpenRunFile): Unit = {
    open.remove(file)
    ()
  }

  /** A cursor held it, whose caller holds no lock: if there are too many it is the first to go. */
  def released(file: OpenRunFile): Unit = if (open.size > most) file.park()

  /** Somewhat more than needed at once: to find out which costs a look at all of them. */
  private def closeSome(): Unit = synchronized {
    if (open.size > most) {
      // Those that are held stay, and others go in their place.
      val enough = most - most / FileHandles.Spare
      OpenRunFile.byUse(open).takeWhile(_ => open.size > enough).foreach(_.park())
    }
  }
}

private object FileHandles {
  final val Spare = 32
}
