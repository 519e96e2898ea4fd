package io.bucketstate.store

import java.util.concurrent.atomic.AtomicInteger
import java.util.concurrent.{Executor, LinkedBlockingQueue, ThreadPoolExecutor, TimeUnit}

/**
 * The threads that work beside the batches: one bounded pool for all the stores of an executor, so that
 * many partitions do not take the processors away from their own tasks. Daemon threads, which end when
 * there was nothing to do for a few seconds. What is submitted handles its own failures.
 */
object BackgroundPool {
  private val Threads = math.max(1, math.min(4, Runtime.getRuntime.availableProcessors / 2))

  /** Besides: what takes long, so that nothing short waits for it. It is at it all the time, but slowly. */
  private val LongThreads = math.max(1, Threads / 2)

  /** As many reads as a disk serves at once. */
  private val Readers = math.max(2, math.min(8, Runtime.getRuntime.availableProcessors))
  private val number = new AtomicInteger

  private def pool(threads: Int): ThreadPoolExecutor = {
    val made = new ThreadPoolExecutor(
      threads,
      threads,
      5L,
      TimeUnit.SECONDS,
      new LinkedBlockingQueue[Runnable](),
      (task: Runnable) => {
        val thread = new Thread(task, s"bucketstate-background-${number.incrementAndGet()}")
        thread.setDaemon(true)
        thread
      }
    )
    made.allowCoreThreadTimeOut(true)
    made
  }

  private[bucketstate] lazy val byNeed: NeediestFirst = new NeediestFirst(pool(Threads))

  /** For compactions. */
  private[bucketstate] lazy val longByNeed: NeediestFirst = new NeediestFirst(pool(LongThreads))

  /** For local databases, which are written a little with each batch: nothing that takes long is in their way. */
  private[bucketstate] lazy val databases: NeediestFirst = new NeediestFirst(pool(Threads))

  /** For reads that a task waits for, or will soon: they overlap where storage is slow. */
  private[bucketstate] lazy val readers: Executor = pool(Readers)

  /** Work that a restarted query waits for: only a store that lags as much as is allowed goes first. */
  def submit(task: () => Unit): Unit = byNeed.submit(() => RestartNeed)(task)

  /** In the measure of a snapshot's lag, of which 1 is due, and 2 too much. */
  private final val RestartNeed = 1.8
}
