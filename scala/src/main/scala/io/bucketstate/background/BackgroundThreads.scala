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
 * @param later       runs what it is given when that time has passed
 */
private[bucketstate] final class BackgroundThreads(
    threads: Int,
    mostSpare: Int,
    overdueMs: Long,
    mayTakeLong: Boolean = false,
    ticker: Ticker = Ticker.System,
    later: Long => Executor = CompletableFuture.delayedExecutor(_, TimeUnit.MILLISECONDS)
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
    if (mostSpare > 0) {
      // Where no thread can be made, whoever was to look later may be lost without a word. So it is looked at here, too;
      // and the task was taken, whatever becomes of that.
      try {
        replaceOverdue()
        watch()
      } catch { case _: OutOfMemoryError => () }
    }
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
    try
      later(overdueMs).execute { () =>
        isWatched.set(false)
        replaceOverdue()
        if (!begun.isEmpty || !pool.getQueue.isEmpty) watch()
      }
    catch { case e: Throwable => isWatched.set(false); throw e }
  }

  private def replaceOverdue(): Unit = {
    val overdue = begun.values.asScala.count(ticker.millisSince(_) >= overdueMs)
    pool.setCorePoolSize(threads + math.min(overdue, mostSpare))
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
