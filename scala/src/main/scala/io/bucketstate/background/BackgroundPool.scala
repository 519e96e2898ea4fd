package io.bucketstate.background

import java.util.concurrent.Executor

/**
 * The threads that work beside the batches: one bounded pool for all the stores of an executor, so that
 * many partitions do not take the processors away from their own tasks. What is submitted handles its own
 * failures.
 */
object BackgroundPool {
  private val Threads = math.max(1, math.min(4, Runtime.getRuntime.availableProcessors / 2))

  /** Besides: what takes long, so that nothing short waits for it. It is at it all the time, but slowly. */
  private val LongThreads = math.max(1, Threads / 2)

  /** How many reads run at a time: about as many as a disk serves at once. */
  private val Readers = math.max(2, math.min(8, Runtime.getRuntime.availableProcessors))

  private final val Headers = 4

  /** How many threads may take the place of those that have been at one thing, or at one record, for longer than [[OverdueMs]]. */
  private final val Spare = 4
  private final val OverdueMs = 60000L

  private[bucketstate] lazy val byNeed: NeediestFirst = new NeediestFirst(
    new BackgroundThreads(Threads, Spare, OverdueMs)
  )

  /** For compactions, which may take long and are all right as long as records pass. */
  private[bucketstate] lazy val longByNeed: NeediestFirst = new NeediestFirst(
    new BackgroundThreads(LongThreads, Spare, OverdueMs, mayTakeLong = true)
  )

  /** For local databases, which are written a little with each batch: nothing that takes long is in their way. */
  private[bucketstate] lazy val databases: NeediestFirst = new NeediestFirst(
    new BackgroundThreads(Threads, Spare, OverdueMs)
  )

  /** For reads that a task waits for, or will soon: they overlap where storage is slow. */
  private[bucketstate] lazy val readers: Executor = optional(Readers)

  /** For one small read per store and batch, which the batch's commit waits for. */
  private[bucketstate] lazy val headers: Executor = optional(Headers)

  private def optional(threads: Int): Executor =
    new OptionalThreads(new BackgroundThreads(threads, 0, OverdueMs))

  /** Snapshots, compactions and writes to local databases that no thread has begun. */
  private[bucketstate] def queued: Int = byNeed.length + longByNeed.length + databases.length

  /** Work that a restarted query waits for: only a store that lags as much as is allowed goes first. */
  def submit(task: () => Unit): Unit = byNeed.submit(() => RestartNeed)(task)

  /** In the measure of a snapshot's lag, of which 1 is due, and 2 too much. */
  private final val RestartNeed = 1.8
}
