package io.bucketstate.store

import java.util.concurrent.atomic.AtomicInteger
import java.util.concurrent.{LinkedBlockingQueue, ThreadPoolExecutor, TimeUnit}

/**
 * The threads that work beside the batches: one bounded pool for all the stores of an executor, so that
 * many partitions do not take the processors away from their own tasks. Daemon threads, which end when
 * there was nothing to do for a few seconds. What is submitted handles its own failures.
 */
object BackgroundPool {
  private val Threads = math.max(1, math.min(4, Runtime.getRuntime.availableProcessors / 2))
  private val number = new AtomicInteger

  private lazy val pool: ThreadPoolExecutor = {
    val made = new ThreadPoolExecutor(
      Threads,
      Threads,
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

  def submit(task: () => Unit): Unit = pool.execute(() => task())
}
