package io.bucketstate.checkpoint.run

import java.nio.file.Path

import io.bucketstate.checkpoint.records.Lookup

/**
 * A run's file that is open for its opener and whoever else holds it, until the last of them lets go.
 * Thread-safe.
 */
private[checkpoint] abstract class OpenRunFile(path: Path) extends AutoCloseable {
  private[this] var users = 1 // the opener
  private[this] var closed = false

  /** What the file says of a key. Throws `CorruptException` if what it has to read is damaged. */
  def get(family: Int, bucket: Int, key: Array[Byte]): Lookup

  /** Bytes of heap that it keeps, to be quick. */
  def heapBytes: Long = 0

  /** Gives those bytes up, until they are needed again. */
  def shed(): Unit = ()

  /** Keeps the file open, even when it is closed meanwhile, until [[release]]. */
  private[run] def hold(): Unit = synchronized {
    requireOpen()
    users += 1
  }

  private[run] def release(): Unit = synchronized {
    users -= 1
    if (users == 0) free()
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
