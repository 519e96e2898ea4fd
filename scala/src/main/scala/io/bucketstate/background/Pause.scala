package io.bucketstate.background

import java.util.concurrent.locks.LockSupport

/** The one door through which background work lets time pass. Thread-safe. */
private[bucketstate] trait Pause {

  /** Waits for so many nanoseconds; less if the thread is woken or interrupted, or for no reason at all. */
  def rest(nanos: Long): Unit

  /** Ends the rest of a thread, or its next one if it does not rest now. */
  def wake(thread: Thread): Unit
}

private[bucketstate] object Pause {
  object System extends Pause {
    override def rest(nanos: Long): Unit = LockSupport.parkNanos(this, nanos)
    override def wake(thread: Thread): Unit = LockSupport.unpark(thread)
  }
}
