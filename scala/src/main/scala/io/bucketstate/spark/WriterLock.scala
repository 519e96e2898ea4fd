package io.bucketstate.spark

import java.lang.ref.WeakReference

import org.apache.spark.TaskContext
import org.apache.spark.sql.execution.streaming.state.{
  SparkInternals,
  StateStoreErrors,
  StateStoreId
}

import io.bucketstate.store.{Ticker, Writers}

/**
 * Lets one task at a time write a store. Whoever acquires it gets a stamp; a task that no longer holds
 * its stamp (it was killed and another attempt took over) fails on its next call and can never reach
 * the table.
 *
 * Waiting is bounded: after `timeoutMs` the newcomer fails with the error class that Spark's RocksDB
 * provider gives (`CANNOT_LOAD_STATE_STORE.UNRELEASED_THREAD_ERROR`). Thread-safe.
 */
private[spark] final class WriterLock(storeId: StateStoreId, timeoutMs: Long, ticker: Ticker) {
  import WriterLock._

  private[this] val monitor = new Object
  private[this] var lastStamp = 0L
  private[this] var holder: Holder = _
  private[this] var closed = false
  @volatile private[this] var current = Free

  /** Waits until nobody holds the lock, and takes it. */
  def acquire(): Long = monitor.synchronized {
    awaitFree("load")
    failIfClosed("ACQUIRED", "load")
    lastStamp += 1
    current = lastStamp
    holder = new Holder
    Writers.OfProcess.began()
    lastStamp
  }

  /** Does nothing when the stamp is not the current one. */
  def release(stamp: Long): Unit = monitor.synchronized {
    if (current == stamp) {
      current = Free
      holder = null
      Writers.OfProcess.ended()
      monitor.notifyAll()
    }
  }

  /** One volatile read: cheap enough for every call. */
  def isHeldBy(stamp: Long): Boolean = current == stamp

  /** Throws `STATE_STORE_INVALID_STAMP` when the stamp is no longer the current one. */
  def verify(stamp: Long): Unit =
    if (current != stamp) throw StateStoreErrors.invalidStamp(stamp, current)

  /** Waits until nobody holds the lock and closes it for ever; false when it was closed already. */
  def close(): Boolean = monitor.synchronized {
    if (closed) false
    else {
      awaitFree("close")
      closed = true
      true
    }
  }

  def failIfClosed(wanted: String, operation: String): Unit = monitor.synchronized {
    if (closed)
      throw StateStoreErrors.invalidStateMachineTransition("CLOSED", wanted, operation, storeId)
  }

  private def awaitFree(operation: String): Unit = {
    val start = ticker.nanos
    while (current != Free && ticker.millisSince(start) < timeoutMs) {
      monitor.wait(Math.max(1L, Math.min(PollMs, timeoutMs - ticker.millisSince(start))))
      Option(TaskContext.get()).foreach(context => if (context.isInterrupted()) failKilled(context))
    }
    if (current != Free) {
      throw SparkInternals.storeStillHeld(
        storeId.toString,
        operation,
        new Holder().toString,
        holder.toString,
        ticker.millisSince(start),
        holder.stack
      )
    }
  }

  private def failKilled(context: TaskContext): Unit =
    throw new InterruptedException(
      s"task ${context.taskAttemptId()} was killed while it waited for $storeId"
    )
}

private[spark] object WriterLock {

  /** The stamp that nobody holds. */
  final val Free = -1L
  private final val PollMs = 100L

  /** Who holds the lock, for messages only: it must not keep a dead thread in memory. */
  private final class Holder {
    private val thread = new WeakReference[Thread](Thread.currentThread())
    private val task = Option(TaskContext.get()).map { context =>
      s", task: partition ${context.partitionId()}.${context.attemptNumber()} in stage " +
        s"${context.stageId()}.${context.stageAttemptNumber()}, TID ${context.taskAttemptId()}"
    }

    def stack: String = Option(thread.get).fold("")(_.getStackTrace.mkString("\n"))

    override def toString: String =
      s"[ThreadId: ${Option(thread.get).fold("gone")(_.getId.toString)}${task.getOrElse("")}]"
  }
}
