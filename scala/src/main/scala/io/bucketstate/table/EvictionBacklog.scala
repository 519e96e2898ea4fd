package io.bucketstate.table

import io.bucketstate.record.BucketResidence

/**
 * Buckets that are to be evicted beside later writes, one at a time: after one that takes much, more writes come before
 * the next. They wait until what these writes settle has settled, because only that can leave memory. Writer only.
 *
 * Invariant: a write evicts one bucket at most.
 */
private[table] final class EvictionBacklog(settling: SettlingBacklog) {
  import EvictionBacklog._

  private[this] var due = IndexedSeq.empty[BucketResidence]
  private[this] var evict: BucketResidence => Long = _
  private[this] var next = 0
  private[this] var left = 0L // bytes that are to be free
  private[this] var debt = 0L // bytes of the last one that no write has paid for yet

  /**
   * These in the place of what is still due.
   *
   * @param order in which they should go
   * @param bytes once so many are free the rest stays
   * @param run   evicts one, and tells how many bytes are free by it
   */
  def replaceBy(
      order: IndexedSeq[BucketResidence],
      bytes: Long,
      run: BucketResidence => Long
  ): Unit = {
    due = order
    evict = run
    next = 0
    left = if (order.isEmpty) 0L else bytes
    debt = 0L
  }

  /** Called once for each new entry, at the end of its write: no slot's index is valid after it. */
  def evictSome(): Unit = if (left > 0L) {
    debt -= BytesPerWrite
    if (debt <= 0L && settling.isEmpty) evictNext()
  }

  private def evictNext(): Unit = {
    val bucket = due(next)
    next += 1
    debt = bucket.bytes
    left -= evict(bucket)
    if (next == due.size || left <= 0L) {
      left = 0L
      due = IndexedSeq.empty
      evict = null
    }
  }
}

private object EvictionBacklog {

  /** More than a write can add, so that a batch's writes make as much room as they take. */
  private final val BytesPerWrite = 1024L
}
