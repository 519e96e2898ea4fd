package io.bucketstate.checkpoint.run

import java.nio.file.Path
import java.util.concurrent.atomic.AtomicInteger

/**
 * A run's file that is open for its opener and whoever else holds it, until the last of them lets go.
 * Thread-safe.
 */
private[checkpoint] abstract class OpenRunFile(path: Path) extends AutoCloseable {
  private[this] var users = 1 // the opener
  private[this] var closed = false
  OpenRunFile.live.incrementAndGet()

  /** Keeps the file open, even when it is closed meanwhile, until [[release]]. */
  private[run] def hold(): Unit = synchronized {
    requireOpen()
    users += 1
  }

  /** The same if it is open; false, and nothing is held, if it is not. */
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
  def close(): Unit = synchronized {
    if (!closed) {
      closed = true
      release()
    }
  }

  /** Nobody needs it any more. */
  protected def free(): Unit

  protected def requireOpen(): Unit = synchronized {
    if (users == 0) throw new IllegalStateException(s"$path was closed")
  }
}

private[bucketstate] object OpenRunFile {
  private val live = new AtomicInteger

  /** How many this process has open. */
  def liveCount: Int = live.get
}
