package io.bucketstate.store

import java.lang.ref.WeakReference

/**
 * Lets one task at a time write a store. Whoever acquires it gets a stamp; a task that no longer holds
 * its stamp (it was killed and another attempt took over) fails on its next call and can never reach
 * the table.
 *
 * Waiting is bounded: after `timeoutMs` the newcomer fails with what the host says of a store that is
 * still held. Thread-safe.
 *
 * @param writers is told who writes
 */
private[bucketstate] final class WriterLock(
    host: LockHost,
    timeoutMs: Long,
    ticker: Ticker,
    writers: Writers
) {
  import WriterLock._

  private[this] val monitor = new Object
  private[this] var lastStamp = 0L
  private[this] var holder: Holder = _
  private[this] var closed = false
  @volatile private[this] var current = Free

  /** Waits until nobody holds the lock, and takes it. */
  def acquire(): Long = monitor.synchronized {
    awaitFree(StoreCall.Load)
    failIfClosed(StoreCall.Load)
    lastStamp += 1
    current = lastStamp
    holder = new Holder(host.task)
    writers.began()
    lastStamp
  }

  /** Does nothing when the stamp is not the current one. */
  def release(stamp: Long): Unit = monitor.synchronized {
    if (current == stamp) {
      current = Free
      holder = null
      writers.ended()
      monitor.notifyAll()
    }
  }

  /** One volatile read: cheap enough for every call. */
  def isHeldBy(stamp: Long): Boolean = current == stamp

  /** Throws when the stamp is no longer the current one. */
  def verify(stamp: Long): Unit = {
    val now = current
    if (now != stamp) throw host.invalidStamp(stamp, now)
  }

  /** Waits until nobody holds the lock and closes it for ever; false when it was closed already. */
  def close(): Boolean = monitor.synchronized {
    if (closed) false
    else {
      awaitFree(StoreCall.Close)
      closed = true
      true
    }
  }

  def failIfClosed(call: StoreCall): Unit = monitor.synchronized {
    if (closed) throw host.closed(call)
  }

  private def awaitFree(call: StoreCall): Unit = {
    val start = ticker.nanos
    while (current != Free && ticker.millisSince(start) < timeoutMs) {
      monitor.wait(Math.max(1L, Math.min(PollMs, timeoutMs - ticker.millisSince(start))))
      host.requireAlive()
    }
    if (current != Free) {
      throw host.stillHeld(
        StillHeld(
          call,
          new Holder(host.task).toString,
          holder.toString,
          ticker.millisSince(start),
          holder.stack
        )
      )
    }
  }
}

private[bucketstate] object WriterLock {

  /** The stamp that nobody holds. */
  final val Free = -1L
  private final val PollMs = 100L

  /** Who holds the lock, for messages only: it must not keep a dead thread in memory. */
  private final class Holder(task: Option[String]) {
    private val thread = new WeakReference[Thread](Thread.currentThread())

    def stack: String = Option(thread.get).fold("")(_.getStackTrace.mkString("\n"))

    override def toString: String = {
      val its = task.fold("")(", task: " + _)
      s"[ThreadId: ${Option(thread.get).fold("gone")(_.getId.toString)}$its]"
    }
  }
}
