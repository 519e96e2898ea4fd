package io.bucketstate.checkpoint.run.open

import java.util.Set
import java.util.concurrent.atomic.AtomicInteger

import scala.jdk.CollectionConverters._

import io.bucketstate.checkpoint.run.ReadFigures

/**
 * A run's file that is open for its opener and whoever else holds it, until the last of them lets go; and what those
 * see of it who share out heap and handles among the files of all stores. Thread-safe.
 *
 * @param figures of its store
 */
private[checkpoint] abstract class OpenRunFile(name: String, private[run] val figures: ReadFigures)
    extends AutoCloseable {
  private[this] var users = 1 // the opener
  @volatile private[this] var closed = false
  OpenRunFile.live.incrementAndGet()

  /** The time of its last look-up, as [[RunCache.now]] has it. Not volatile: one that is a little old does no harm. */
  private[run] final var lastUse = 0L

  /** Keeps the file open, even when it is closed meanwhile, until [[release]]. */
  private[run] def hold(): Unit = synchronized {
    requireOpen()
    users += 1
  }

  /** Holds the file as [[hold]] does, if it is open; false, and nothing is held, if it is not. */
  private[run] def tryHold(): Boolean = synchronized {
    if (users > 0) users += 1
    users > 0
  }

  private[run] def release(): Unit = synchronized {
    users -= 1
    if (users == 0) {
      OpenRunFile.live.decrementAndGet()
      free()
    }
  }

  /** The opener needs it no more. */
  def close(): Unit = {
    val isFirst = synchronized {
      val wasOpen = !closed
      closed = true
      wasOpen
    }
    if (isFirst) {
      try shed()
      finally release()
    }
  }

  /** Whether its opener needs it no more: nothing more is kept of it. */
  private[run] def isGivenUp: Boolean = closed

  /** Gives its handle back if nobody but the opener has it; the next read opens the file again. */
  private[run] def park(): Unit = synchronized {
    if (users == 1) rest()
  }

  /** Gives up the heap that it keeps to be quick, until that is needed again. Waits for nobody. */
  def shed(): Unit

  /** Nobody reads for now. */
  protected def rest(): Unit

  /** Nobody needs it any more. */
  protected def free(): Unit

  protected def requireOpen(): Unit = synchronized {
    if (users == 0) throw new IllegalStateException(s"$name was closed")
  }
}

private[bucketstate] object OpenRunFile {
  private val live = new AtomicInteger

  /** The least recently used first. */
  private[run] def byUse(files: Set[OpenRunFile]): Iterator[OpenRunFile] =
    // Looked at once, because who is used meanwhile must not move while they are sorted.
    files.asScala.iterator.map(file => (file.lastUse, file)).toArray.sortBy(_._1).iterator.map(_._2)

  /** How many this process has open. */
  def liveCount: Int = live.get
}
