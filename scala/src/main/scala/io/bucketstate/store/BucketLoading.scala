package io.bucketstate.store

import java.util.concurrent.CountDownLatch
import java.util.concurrent.atomic.{AtomicBoolean, AtomicInteger, AtomicReference}

import scala.util.control.NonFatal

import io.bucketstate.background.BackgroundPool
import io.bucketstate.table.StateTable

/** Brings the buckets of tables into memory. Thread-safe. */
private[bucketstate] final class BucketLoading {
  @volatile private[this] var stopped = false
  private[this] val isFilling = new AtomicBoolean

  /** Lets warm-ups end after the bucket they are at. */
  def stop(): Unit = stopped = true

  /** Loads all buckets, in parallel. */
  def now(table: StateTable, numBuckets: Int): Unit =
    forEach(numBuckets)(bucket => table.families.foreach(_.load(bucket)))

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

  /**
   * Verifies what nobody has read yet, which the first commit waits for, and loads one bucket after another, and whole
   * if there is room, in the background, until something fails. Does not fill where that is already going on.
   *
   * @param fills    also families whose keys are looked up: not while the first batch does so, which then has the
   *                 machine for itself
   * @param isWanted asked before each bucket
   * @param onFailure told of the failure
   */
  def later(
      table: StateTable,
      numBuckets: Int,
      fills: Boolean,
      isWanted: () => Boolean,
      onFailure: Throwable => Unit
  ): Unit =
    if (!table.isResident && (!fills || isFilling.compareAndSet(false, true))) {
      BackgroundPool.submit { () =>
        try {
          table.requireVerified()
          (0 until numBuckets).iterator
            .takeWhile(_ => !stopped && isWanted())
            .foreach { bucket =>
              table.families
                .filter(family => fills || family.loadsWhole)
                .foreach(family => if (!family.load(bucket)) family.fill(bucket))
            }
        } catch { case NonFatal(failure) => onFailure(failure) }
        finally if (fills) isFilling.set(false)
      }
    }

  private final val Helpers = 3
}
