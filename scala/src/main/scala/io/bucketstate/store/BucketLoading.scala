package io.bucketstate.store

import java.util.concurrent.CountDownLatch
import java.util.concurrent.atomic.{AtomicInteger, AtomicReference}

import scala.util.control.NonFatal

import io.bucketstate.table.StateTable

/** Brings the buckets of tables into memory. Thread-safe. */
private[bucketstate] final class BucketLoading {
  @volatile private[this] var stopped = false

  /** Lets warm-ups end after the bucket they are at. */
  def stop(): Unit = stopped = true

  /** Loads all buckets, in parallel. */
  def now(table: StateTable, numBuckets: Int): Unit =
    forEach(numBuckets)(bucket => table.families.foreach(_.load(bucket)))

  /**
   * Calls `load` with each number from 0 until `count`, in parallel: by this thread, and by those of the pool
   * that come to it in time. A thread of the pool that comes late finds nothing left to do, so a busy pool
   * never holds this up. After a failure no more is begun; the first one is thrown.
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
    (1 to Helpers).foreach(_ => BackgroundPool.submit(() => work()))
    work()
    unfinished.await()
    if (failed.get != null) throw failed.get
  }

  /**
   * Verifies what nobody has read yet, which the first commit waits for, and loads one bucket after another
   * in the background, until something fails.
   *
   * @param isWanted asked before each bucket
   * @param onFailure told of the failure
   */
  def later(
      table: StateTable,
      numBuckets: Int,
      isWanted: () => Boolean,
      onFailure: Throwable => Unit
  ): Unit =
    if (!table.isLoaded) {
      BackgroundPool.submit { () =>
        try {
          table.requireVerified()
          (0 until numBuckets).iterator
            .takeWhile(_ => !stopped && isWanted())
            .foreach(bucket => table.families.foreach(_.load(bucket)))
        } catch { case NonFatal(failure) => onFailure(failure) }
      }
    }

  private final val Helpers = 3
}
