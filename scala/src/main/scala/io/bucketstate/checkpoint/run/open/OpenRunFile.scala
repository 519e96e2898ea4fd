package io.bucketstate.checkpoint.run.open

import java.nio.file.Path
import java.util.concurrent.atomic.{AtomicBoolean, AtomicInteger}

import io.bucketstate.checkpoint.io.{Exclusive, NioFileStore, ReadableFile}
import io.bucketstate.checkpoint.run.{LocalRuns, ReadFigures, RunFile}

/**
 * A run's file on the local disk, for its opener and whoever else holds it, until the last of them lets go. While only the
 * opener has it, its handle may be closed between two reads: the next one opens it again, and has it fetched again if
 * it was a copy and is gone. Thread-safe; reads of one file wait for each other.
 *
 * @param figures of its store
 */
private[run] final class OpenRunFile(
    file: RunFile,
    local: LocalRuns,
    handles: FileHandles,
    val figures: ReadFigures
) extends ReadableFile
    with FileHandles.Owner {
  private[this] val users = new AtomicInteger(1) // the opener
  private[this] val closed = new AtomicBoolean
  private[this] val alone = new Exclusive // with the handle
  private[this] var handle: ReadableFile = _ // null while it is closed
  private[this] var wasOpen = false

  /** Not volatile: one that is a little old does no harm. */
  var lastUse: Long = 0L

  OpenRunFile.live.incrementAndGet()

  override val length: Long = file.bytes

  override def read(position: Long, count: Int): Array[Byte] = opening(_.read(position, count))

  /** From now on its bytes can be read, whatever becomes of its name, as long as the caller holds it. */
  def open(): Unit = opening(_ => ())

  /** Keeps the file open, even when it is closed meanwhile, until [[release]]; false, and nothing is held, if it was closed. */
  def tryHold(): Boolean = {
    var before = users.get
    while (before > 0 && !users.compareAndSet(before, before + 1)) before = users.get
    before > 0
  }

  def release(): Unit = if (users.decrementAndGet() == 0) {
    OpenRunFile.live.decrementAndGet()
    closeHandle()
  }

  /** The opener needs it no more; false if it has said so before. */
  def giveUp(): Boolean = closed.compareAndSet(false, true) && {
    release()
    true
  }

  override def close(): Unit = {
    giveUp()
    ()
  }

  /** Whether its opener needs it no more: nothing more is kept of it. */
  def isGivenUp: Boolean = closed.get

  override def park(): Unit = if (isUnused) alone.patiently {
    // Who holds it since then has it opened behind this, if at all.
    if (isUnused) closeHandle()
  }

  private def isUnused: Boolean = users.get == 1 && !isGivenUp

  /**
   * What was read is not what was written. If it was a copy it is made right, whatever that takes, and this is true: it
   * can be read again.
   */
  def mend(): Boolean = local.isCopied(file.name) && {
    // In this order: whoever opens it before it is right has his handle closed, too.
    local.mend(file)
    closeHandle()
    true
  }

  private def opening[A](use: ReadableFile => A): A = {
    var isNew = false
    try
      alone(local.pathOf(file.name)) {
        if (handle == null) {
          if (users.get == 0) throw new IllegalStateException(s"${file.name} was closed")
          handle = if (wasOpen) local.usingAgain(file)(openAt) else local.using(file)(openAt)
          handles.isOpen(this, nowOpen = true)
          wasOpen = true
          isNew = true
        }
        lastUse = handles.now()
        use(handle)
      }
    // Without the lock: others are closed, which takes theirs.
    finally if (isNew) handles.opened()
  }

  private def closeHandle(): Unit = alone.patiently {
    val open = handle
    if (open != null) {
      handle = null
      handles.isOpen(this, nowOpen = false)
      open.close()
    }
  }

  private def openAt(path: Path): ReadableFile =
    new NioFileStore(path.getParent).open(path.getFileName.toString)
}

private[bucketstate] object OpenRunFile {
  private val live = new AtomicInteger

  /** How many this process has open. */
  def liveCount: Int = live.get
}
