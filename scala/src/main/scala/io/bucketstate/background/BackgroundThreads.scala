package io.bucketstate.background

import java.util.concurrent.atomic.{AtomicBoolean, AtomicInteger}
import java.util.concurrent.{
  CompletableFuture,
  ConcurrentHashMap,
  Executor,
  LinkedBlockingQueue,
  ThreadPoolExecutor,
  TimeUnit
}

import scala.jdk.CollectionConverters._

/**
 * Some threads for work that comes in any number. Daemon threads, which end when there was nothing to do for a few
 * seconds. What has been at work for too long, such as an upload that hangs, does not count as one of them: others take
 * its place, up to a few. Thread-safe.
 *
 * @param threads     that work at a time
 * @param mostSpare   beside what takes too long
 * @param overdueMs   that is too long
 * @param mayTakeLong whether it is too long only for what has told nothing of itself since
 */
private[bucketstate] final class BackgroundThreads(
    threads: Int,
    mostSpare: Int,
    overdueMs: Long,
    mayTakeLong: Boolean = false,
    ticker: Ticker = Ticker.System
) extends Executor {
  import BackgroundThreads._

  // By who does it: since when, or when it was last told to go on.
  private[this] val begun = new ConcurrentHashMap[Thread, Long]
  private[this] val isWatched = new AtomicBoolean
  private[this] val pool = new ThreadPoolExecutor(
    threads,
    threads + mostSpare,
    5L,
    TimeUnit.SECONDS,
    new LinkedBlockingQueue[Runnable](),
    (task: Runnable) => new Worker(task, goesOn(_))
  )
  pool.allowCoreThreadTimeOut(true)

  override def execute(task: Runnable): Unit = {
    pool.execute(() => timed(task))
    if (mostSpare > 0) watch()
  }

  private def timed(task: Runnable): Unit = {
    val worker = Thread.currentThread()
    begun.put(worker, ticker.nanos)
    try task.run()
    finally {
      begun.remove(worker)
      ()
    }
  }

  private def goesOn(worker: Thread): Unit = if (mayTakeLong) {
    begun.replace(worker, ticker.nanos)
    ()
  }

  /** Looks again and again while something is at work. */
  private def watch(): Unit = if (isWatched.compareAndSet(false, true)) {
    val later = CompletableFuture.delayedExecutor(overdueMs, TimeUnit.MILLISECONDS)
    later.execute { () =>
      isWatched.set(false)
      val overdue = begun.values.asScala.count(ticker.millisSince(_) >= overdueMs)
      pool.setCorePoolSize(threads + math.min(overdue, mostSpare))
      if (!begun.isEmpty || !pool.getQueue.isEmpty) watch()
    }
  }
}

private object BackgroundThreads {
  private val number = new AtomicInteger

  /** What the calling thread is at goes on: it does not hang. */
  private[background] def goesOn(): Unit = Thread.currentThread match {
    case worker: Worker => worker.goesOn(worker)
    case _              => ()
  }

  private final class Worker(task: Runnable, val goesOn: Thread => Unit)
      extends Thread(task, s"bucketstate-background-${number.incrementAndGet()}") {
    setDaemon(true)
  }
}
