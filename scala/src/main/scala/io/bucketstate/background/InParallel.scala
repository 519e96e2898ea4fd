package io.bucketstate.background

import java.util.concurrent.CountDownLatch
import java.util.concurrent.atomic.{AtomicInteger, AtomicReference}

/** A loop that several threads run. */
private[bucketstate] object InParallel {
  private final val Helpers = 3

  /**
   * Calls `load` with each number from 0 until `count`, in parallel: by this thread, and by the readers
   * that come to it in time. One that comes late finds nothing left to do, so busy readers
   * never hold this up. After a failure no more is begun; the first one is thrown.
   */
  def forEach(count: Int)(load: Int => Unit): Unit = {
    val next = new AtomicInteger
    val unfinished = new CountDownLatch(count)
    val failed = new AtomicReference[Throwable]
    def work(): Unit = {
      var number = next.getAndIncrement()
      while (number < count) {
        try if (failed.get == null) load(number)
        catch { case failure: Throwable => failed.compareAndSet(null, failure) }
        finally unfinished.countDown()
        number = next.getAndIncrement()
      }
    }
    (1 to math.min(Helpers, count - 1)).foreach(_ => BackgroundPool.readers.execute(() => work()))
    work()
    unfinished.await()
    if (failed.get != null) throw failed.get
  }
}
