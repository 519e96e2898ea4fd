package io.bucketstate.checkpoint.snapshot

import java.util.concurrent.TimeUnit.MILLISECONDS
import java.util.concurrent.locks.ReentrantLock

import io.bucketstate.background.Patience
import io.bucketstate.error.UnavailableException

/**
 * Lets one thread at a time make a snapshot of a store. Thread-safe.
 *
 * @param location of the store, for messages
 */
private[snapshot] final class OneAtATime(location: String) {
  private[this] val lock = new ReentrantLock
  @volatile private[this] var underWay = 0L // version of the snapshot that began last

  /**
   * Makes a snapshot of a version when none is under way.
   *
   * @param patience of a task that waits for the one under way: over its limit this throws `UnavailableException`, and once
   *                 the task was killed what `requireAlive` throws, or `InterruptedException`. None for a thread that waits
   *                 as long as it takes.
   */
  def make[A](version: Long, patience: Option[Patience])(work: => A): A = {
    patience.fold(lock.lock())(await(version, _))
    holding {
      underWay = version
      work
    }
  }

  /** Does something else when none is under way, however long that takes. */
  def between[A](work: => A): A = {
    lock.lock()
    holding(work)
  }

  private def holding[A](work: => A): A =
    try work
    finally lock.unlock()

  private def await(version: Long, patience: Patience): Unit =
    // Without contention an interrupt is left to whoever writes files.
    if (!lock.tryLock()) {
      val start = patience.ticker.nanos
      def waited = patience.ticker.millisSince(start)
      def pause = Math.max(1L, Math.min(Patience.PollMs, patience.limitMs - waited))
      while (!lock.tryLock(pause, MILLISECONDS)) {
        patience.requireAlive()
        if (waited >= patience.limitMs) throw tooLong(version, waited)
      }
    }

  private def tooLong(version: Long, waitedMs: Long) = new UnavailableException(
    location,
    s"the snapshot of version $underWay has been under way for $waitedMs ms and more, and version $version, which cannot " +
      "do without one, waited for its end",
    "Check that the checkpoint's file system answers: an upload of that snapshot may hang. The same task may succeed " +
      "when it is tried again."
  )
}
