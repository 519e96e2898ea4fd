package io.bucketstate.store

import java.lang.ref.WeakReference

import scala.util.control.NonFatal

import org.slf4j.LoggerFactory

import io.bucketstate.background.{Patience, Ticker, Writers}

/**
 * Lets one task at a time write a store. Whoever acquires it gets a stamp; a task that no longer holds
 * its stamp (it was killed and another attempt took over) fails on its next call. One that was in the
 * middle of a call by then has another table than the next: whoever ends a store sees to that.
 *
 * Waiting is bounded: after `timeoutMs` the newcomer fails with what the host says of a store that is
 * still held. Whoever closes the store may come too early, and need not come again: nobody else gets the lock
 * from then on, and when its holder lets go the store is closed. Thread-safe.
 *
 * @param writers is told who writes
 * @param end     closes the store: called once, when nobody holds the lock and nobody can get it any more
 */
private[bucketstate] final class WriterLock(
    host: LockHost,
    timeoutMs: Long,
    ticker: Ticker,
    writers: Writers,
    end: () => Unit
) {
  import WriterLock._

  private[this] val log = LoggerFactory.getLogger(classOf[WriterLock])
  private[this] val monitor = new Object
  private[this] var lastStamp = 0L
  private[this] var holder: Holder = _
  private[this] var closers = 0 // who wait for the holder
  private[this] var closing = false // nobody gets it any more
  private[this] var ended = false // or just being so
  @volatile private[this] var current = Free

  /** Waits until nobody holds the lock, and takes it. */
  def acquire(): Long = monitor.synchronized {
    awaitFree(StoreCall.Load)
    failIfClosed(StoreCall.Load)
    holder = new Holder(host.task)
    lastStamp += 1
    writers.began()
    current = lastStamp
    lastStamp
  }

  /** Does nothing when the stamp is not the current one. */
  def release(stamp: Long): Unit = {
    val isLast = monitor.synchronized {
      val isHeld = current == stamp
      if (isHeld) {
        current = Free
        holder = null
        writers.ended()
        monitor.notifyAll()
      }
      isHeld && closers == 0 && mayEnd()
    }
    if (isLast) endLate()
  }

  /** One volatile read: cheap enough for every call. */
  def isHeldBy(stamp: Long): Boolean = current == stamp

  /** Throws when the stamp is no longer the current one. */
  def verify(stamp: Long): Unit = {
    val valid = current
    if (valid != stamp) throw host.invalidStamp(stamp, valid)
  }

  /**
   * Closes the lock for ever, waits until nobody holds it, and ends the store; false when that was done already.
   * When it throws because somebody still holds it, or the caller was interrupted, the holder's release does the rest.
   */
  def close(): Boolean = {
    val isFirst = monitor.synchronized {
      closing = true
      monitor.notifyAll()
      awaitHolder()
      mayEnd()
    }
    if (isFirst) end()
    isFirst
  }

  def failIfClosed(call: StoreCall): Unit = monitor.synchronized {
    if (closing) throw host.closed(call)
  }

  private def awaitHolder(): Unit = {
    closers += 1
    try awaitFree(StoreCall.Close)
    catch {
      // The holder has let go meanwhile, and left the rest to this.
      case _: InterruptedException if current == Free => Thread.currentThread().interrupt()
      case _: Throwable if current == Free            => ()
    } finally closers -= 1
  }

  /** True for the one who has to end the store now. */
  private def mayEnd(): Boolean = {
    val may = closing && !ended && current == Free
    if (may) ended = true
    may
  }

  /** The task that lets go has nothing to do with what goes wrong. */
  private def endLate(): Unit =
    try end()
    catch {
      case e: InterruptedException =>
        Thread.currentThread().interrupt()
        log.warn(EndedBadly, e)
      case NonFatal(e) => log.warn(EndedBadly, e)
    }

  private def awaitFree(call: StoreCall): Unit = {
    val start = ticker.nanos
    def isOver = current == Free || (closing && call != StoreCall.Close)
    while (!isOver && ticker.millisSince(start) < timeoutMs) {
      monitor.wait(Math.max(1L, Math.min(Patience.PollMs, timeoutMs - ticker.millisSince(start))))
      host.requireAlive()
    }
    if (!isOver) {
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
  private final val EndedBadly =
    "A store whose last task has let go of it could not be closed cleanly"

  /** The holder of the lock, for messages only: it must not keep a dead thread in memory. */
  private final class Holder(task: Option[String]) {
    private val thread = new WeakReference[Thread](Thread.currentThread())

    def stack: String = Option(thread.get).fold("")(_.getStackTrace.mkString("\n"))

    override def toString: String = {
      val its = task.fold("")(", task: " + _)
      s"[ThreadId: ${Option(thread.get).fold("gone")(_.getId.toString)}$its]"
    }
  }
}
