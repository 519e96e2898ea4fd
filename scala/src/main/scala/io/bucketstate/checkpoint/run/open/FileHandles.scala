package io.bucketstate.checkpoint.run.open

import java.util.concurrent.ConcurrentHashMap
import java.util.concurrent.atomic.AtomicLong

import scala.jdk.CollectionConverters._

/**
 * The handles that runs' files have open, of all stores of this process, held against a limit: those that were not
 * read from for longest give theirs back. A file that somebody holds keeps its own, so while many are held there are
 * more. Thread-safe.
 */
private[run] final class FileHandles {
  import FileHandles._

  private[this] val open = ConcurrentHashMap.newKeySet[Owner]()
  private[this] val clock = new AtomicLong
  @volatile private[this] var most = Int.MaxValue

  def count: Int = open.size

  /** Reads of files so far. */
  def reads: Long = clock.get

  /** The time of a read, counted in reads. */
  def now(): Long = clock.incrementAndGet()

  def limit(handles: Int): Unit = {
    most = handles
    closeSome()
  }

  /** It has a handle from now on, or none any more. */
  def isOpen(file: Owner, nowOpen: Boolean): Unit = {
    if (nowOpen) open.add(file) else open.remove(file)
    ()
  }

  /** One more was opened; its caller holds no lock. */
  def opened(): Unit = if (open.size > most) closeSome()

  /** A cursor held it, whose caller holds no lock: if there are too many it is the first to go. */
  def released(file: Owner): Unit = if (open.size > most) file.park()

  /** Somewhat more than needed at once: to find out which costs a look at all of them. */
  private def closeSome(): Unit = synchronized {
    if (open.size > most) {
      // Those that are held stay, and others go in their place.
      val enough = most - most / Spare
      byUse.iterator.takeWhile(_ => open.size > enough).foreach(_.park())
    }
  }

  /** The least recently used first. */
  private def byUse: Array[Owner] =
    // Looked at once, because who is used meanwhile must not move while they are sorted.
    open.asScala.iterator.map(file => (file.lastUse, file)).toArray.sortBy(_._1).map(_._2)
}

private[run] object FileHandles {
  private final val Spare = 32

  /** A file that may have one. Thread-safe. */
  trait Owner {

    /** When it was last read from, as [[FileHandles.now]] has it. */
    def lastUse: Long

    /** Gives its handle back if only its opener has it; waits for nobody who holds it. */
    def park(): Unit
  }
}
