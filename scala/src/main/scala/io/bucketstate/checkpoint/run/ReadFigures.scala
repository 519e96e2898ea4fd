package io.bucketstate.checkpoint.run

import java.util.concurrent.atomic.LongAdder

/**
 * How often single keys were looked up in runs, by how far that had to go.
 *
 * @param byFilter  no data block was asked, and nothing read: what is in memory of filters and indexes knew
 * @param fromCache all blocks asked were in the cache
 * @param fromFiles something was read from a file
 */
final case class ColdReads(byFilter: Long, fromCache: Long, fromFiles: Long) {
  def all: Long = byFilter + fromCache + fromFiles
}

object ColdReads {
  val None: ColdReads = ColdReads(0L, 0L, 0L)
}

/** How far one look-up went, over all files that it asks. For one thread. */
private[checkpoint] final class LookUpTrace {
  private[this] var cached = false
  private[this] var read = false

  def inCache(): Unit = cached = true

  def inFile(): Unit = read = true

  def isCached: Boolean = cached

  def isRead: Boolean = read
}

/** What one store's look-ups in runs came to, and the heap that is kept for them. Thread-safe, without locks. */
private[run] final class ReadFigures {
  private[this] val heap = new LongAdder
  private[this] val byFilter = new LongAdder
  private[this] val fromCache = new LongAdder
  private[this] val fromFiles = new LongAdder

  /** Bytes of indexes, filters and cached blocks. */
  def heapBytes: Long = heap.sum

  /** @param bytes negative if they were given back */
  def took(bytes: Long): Unit = heap.add(bytes)

  def lookedUp(trace: LookUpTrace): Unit =
    (if (trace.isRead) fromFiles else if (trace.isCached) fromCache else byFilter).increment()

  /** Since the last call. */
  def drain(): ColdReads =
    ColdReads(byFilter.sumThenReset(), fromCache.sumThenReset(), fromFiles.sumThenReset())
}
