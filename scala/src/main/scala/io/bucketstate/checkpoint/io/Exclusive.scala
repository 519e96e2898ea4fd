package io.bucketstate.checkpoint.io

import java.io.InterruptedIOException
import java.util.concurrent.locks.ReentrantLock

/**
 * Lets one thread after another do what may read from storage. An interrupt wakes whoever waits for another thread here: so
 * storage that hangs for one thread does not hold the task of another one that is killed. Thread-safe.
 */
private[checkpoint] final class Exclusive {
  private[this] val lock = new ReentrantLock

  /**
   * Runs `body`, alone. Throws `UnavailableException` if the thread is interrupted while it waits, as a read would that is
   * interrupted; it still is then.
   *
   * @param path of what is read
   */
  def apply[A](path: => String)(body: => A): A = {
    // An interrupt from before is left to whatever reads.
    if (!lock.tryLock()) await(path)
    try body
    finally lock.unlock()
  }

  /** Runs `body`, alone, however long that is waited for: what closes something has to. */
  def patiently[A](body: => A): A = {
    lock.lock()
    try body
    finally lock.unlock()
  }

  private def await(path: => String): Unit =
    try lock.lockInterruptibly()
    catch {
      case e: InterruptedException =>
        Thread.currentThread.interrupt()
        val interrupted = new InterruptedIOException("interrupted while another thread reads it")
        interrupted.initCause(e)
        throw StorageErrors.unavailable(path, "could not be read", interrupted)
    }
}
