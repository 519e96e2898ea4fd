package io.bucketstate.checkpoint.run.open

import java.util.concurrent.ConcurrentHashMap
import java.util.concurrent.atomic.AtomicLong

import io.bucketstate.checkpoint.io.ByteSlice
import io.bucketstate.checkpoint.run.{LookUpTrace, ReadFigures}

/**
 * Shares out heap among the files of runs of all stores of this process: indexes and filters first, a quarter, or what is
 * left, is for data blocks. Thread-safe.
 *
 * Where indexes and filters do not all fit, those that are there stay, and those that came too late are read by pages
 * (see [[KeptPart]]): an order of least recent use would have each look-up read whole what the one after next gives up
 * again. Only what was not used for so long that its file is hardly among those in use makes room.
 *
 * Time is counted in reads of files, see [[now]].
 */
private[run] final class RunCache {
  import RunCache._

  private[this] val files = ConcurrentHashMap.newKeySet[OpenRunFile]()
  private[this] val kept = new AtomicLong // bytes of indexes and filters
  private[this] val swept = new AtomicLong // when those not used for long were last looked for
  private[this] val blocks = new BlockCache
  @volatile private[this] var most = 0L
  @volatile private[this] var reads = 0L

  /** Reads of files so far, about: two at the same time may count as one. */
  def now: Long = reads

  /** Bytes of indexes and filters. */
  def keptBytes: Long = kept.get

  def limit(bytes: Long): Unit = {
    most = bytes
    if (kept.get > bytes) OpenRunFile.byUse(files).takeWhile(_ => kept.get > most).foreach(_.shed())
    fitBlocks()
  }

  /** A file is read from now on; it tells when it ends. */
  def begin(file: OpenRunFile): Unit = {
    file.lastUse = now
    files.add(file)
    ()
  }

  def end(file: OpenRunFile): Unit = {
    files.remove(file)
    ()
  }

  /** Whether a file may keep so many bytes: then they count until it gives them back. */
  def keeps(file: OpenRunFile, bytes: Long): Boolean = {
    val fits = took(bytes) || (sweep() && took(bytes))
    if (fits) file.figures.took(bytes)
    fits
  }

  /** A file needs these few, whatever there is. */
  def mustKeep(file: OpenRunFile, bytes: Long): Unit = {
    file.figures.took(bytes)
    kept.addAndGet(bytes)
    if (blocks.limit > roomForBlocks) fitBlocks()
  }

  def gaveBack(file: OpenRunFile, bytes: Long): Unit = {
    file.figures.took(-bytes)
    kept.addAndGet(-bytes)
    if (roomForBlocks - blocks.limit >= 2 * step) fitBlocks()
  }

  /** A data block that was read before and is still there, or null. */
  def block(file: OpenRunFile, offset: Long): ByteSlice = blocks.get(file, offset)

  def keepBlock(file: OpenRunFile, offset: Long, block: ByteSlice): Unit =
    if (reads > FirstReads) blocks.put(file, offset, block)

  /** A file is about to be read from, for a look-up. */
  def reading(trace: LookUpTrace): Unit = {
    trace.inFile()
    reads += 1
  }

  /** The blocks of files that were given up leave. */
  def forgetGivenUp(): Unit = blocks.forgetGivenUp()

  /** All blocks of a store's files leave. */
  def forget(figures: ReadFigures): Unit = blocks.forget(figures)

  /** Counts so many bytes if that leaves no more than there may be. */
  private def took(bytes: Long): Boolean = {
    val room = most
    var before = kept.get
    var fits = bytes <= room - before
    while (fits && !kept.compareAndSet(before, before + bytes)) {
      before = kept.get
      fits = bytes <= room - before
    }
    if (fits && blocks.limit > most - kept.get) fitBlocks()
    fits
  }

  /** Whether it was time to look for files that are not in use any more. */
  private def sweep(): Boolean = {
    val last = swept.get
    val span = LeastSpan + SpanForEach * files.size
    val isDue = reads - last > span && swept.compareAndSet(last, reads)
    if (isDue) files.forEach(file => if (reads - file.lastUse > span) file.shed())
    isDue
  }

  /** In steps, because another size costs a look at all blocks. */
  private def fitBlocks(): Unit = synchronized {
    val room = roomForBlocks
    if (blocks.limit > room || room - blocks.limit >= 2 * step)
      blocks.resize(if (step == 0) 0 else room / step * step)
  }

  private def roomForBlocks: Long = math.max(0L, math.min(most / PartForBlocks, most - kept.get))

  private def step: Long = most / Steps
}

private object RunCache {

  /** A new JVM's first look-ups are waited for, and where nobody has used Guava yet, to load it takes longer than they do. */
  private final val FirstReads = 100L

  private final val Steps = 64L

  /** More would be missing where keys themselves are kept, which serve more look-ups with as many bytes. */
  private final val PartForBlocks = 4L

  /**
   * A file that look-ups come to evenly is used about once in as many reads as there are files. That it was not for this
   * many times that long hardly happens by chance.
   */
  private final val SpanForEach = 16L
  private final val LeastSpan = 1000L
}
