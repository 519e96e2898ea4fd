package io.bucketstate.history

import java.util.concurrent.atomic.{AtomicInteger, AtomicLong}

/**
 * The heap of all changes of a process that no follower has taken over yet. Each store's wait for its own database, and
 * all of them lie in one heap. It is told with each commit, and with each version that is written down. Thread-safe.
 */
private[bucketstate] final class UnwrittenBytes {
  private[this] val sum = new AtomicLong
  private[this] val waiting = new AtomicInteger // stores of which some wait

  /** Bytes of all stores. */
  def total: Long = sum.get

  /** There were so many of one store, and now there are so many. */
  def changed(before: Long, now: Long): Unit = if (before != now) {
    sum.addAndGet(now - before)
    waiting.addAndGet((if (now > 0) 1 else 0) - (if (before > 0) 1 else 0))
    ()
  }

  /**
   * Whether a store has to wait for its database: where its own changes are more than so many bytes; and where those of all
   * stores are, and its own are an even share of them or more. So one store waits at least, and none for what others have.
   *
   * @param own of the store
   */
  def areOver(most: Long, own: Long): Boolean = own > most || {
    val all = sum.get
    all > most && own >= all / math.max(1, waiting.get)
  }
}
