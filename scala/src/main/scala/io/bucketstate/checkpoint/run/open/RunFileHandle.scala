package io.bucketstate.checkpoint.run.open

import java.nio.file.Path

import io.bucketstate.checkpoint.io.{NioFileStore, ReadableFile}
import io.bucketstate.checkpoint.run.{LocalRuns, RunFile}

/**
 * A run's file on the local disk, that may be closed between two reads: the next one opens it again, and has it fetched
 * again if it was a copy and is gone. Thread-safe.
 */
private[run] final class RunFileHandle(file: RunFile, local: LocalRuns, handles: FileHandles)
    extends ReadableFile {
  private[this] var opened: ReadableFile = _ // null while it is closed
  private[this] var wasOpen = false
  @volatile private[this] var owner: OpenRunFile = _ // null until it is known

  override val length: Long = file.bytes

  /** It counts as this one's. */
  def belongTo(reader: OpenRunFile): Unit = {
    owner = reader
    handles.opened(reader)
  }

  override def read(position: Long, count: Int): Array[Byte] = opening(_.read(position, count))

  /** From now on it is open, whatever becomes of its name, until it is closed. */
  def open(): Unit = opening(_ => ())

  private def opening[A](use: ReadableFile => A): A = {
    var isNew = false
    try
      synchronized {
        if (opened == null) {
          opened = if (wasOpen) local.usingAgain(file)(openAt) else local.using(file)(openAt)
          wasOpen = true
          isNew = true
        }
        use(opened)
      }
    finally if (isNew && owner != null) handles.opened(owner)
  }

  /**
   * What was read is not what was written. If it was a copy it is made right, whatever that takes, and this is true: it
   * can be read again.
   */
  def mend(): Boolean = local.isCopied(file.name) && {
    close()
    local.mend(file)
    true
  }

  /** Until the next read. */
  override def close(): Unit = {
    synchronized {
      if (opened != null) opened.close()
      opened = null
    }
    if (owner != null) handles.closed(owner)
  }

  private def openAt(path: Path): ReadableFile =
    new NioFileStore(path.getParent).open(path.getFileName.toString)
}
