package io.bucketstate.store

import java.util.concurrent.atomic.AtomicInteger

import scala.util.control.NonFatal

import io.bucketstate.table.VersionedTable

/** Brings the buckets of tables into memory before anybody touches them. Thread-safe. */
final class BucketLoading(numBuckets: Int) {
  @volatile private[this] var stopped = false

  /** Lets warm-ups end after the bucket they are at. */
  def stop(): Unit = stopped = true

  /**
   * Loads all buckets, in parallel: by this thread, and by those of the pool that come to it in time. A
   * thread of the pool that comes late finds nothing left to do, so a busy pool never holds this up.
   */
  def now(table: VersionedTable): Unit = {
    val next = new AtomicInteger
    (1 to Helpers).foreach { _ =>
      BackgroundPool.submit { () =>
        try loadFrom(next, table)
        catch {
          case NonFatal(_) => ()
        } // whoever asked meets the same failure: the table is broken
      }
    }
    loadFrom(next, table)
    // Waits for buckets that others are still at, and fails if one of those failed.
    (0 until numBuckets).foreach(bucket => table.families.foreach(_.load(bucket)))
  }

  /**
   * Loads one bucket after another in the background. A failure is left to the task that touches the
   * table next.
   *
   * @param isWanted asked before each bucket
   */
  def later(table: VersionedTable, isWanted: () => Boolean): Unit =
    if (!table.isResident) {
      BackgroundPool.submit { () =>
        try
          (0 until numBuckets).iterator
            .takeWhile(_ => !stopped && isWanted())
            .foreach(bucket => table.families.foreach(_.load(bucket)))
        catch { case NonFatal(_) => () }
      }
    }

  private def loadFrom(next: AtomicInteger, table: VersionedTable): Unit = {
    var bucket = next.getAndIncrement()
    while (bucket < numBuckets && table.isSound) {
      table.families.foreach(_.load(bucket))
      bucket = next.getAndIncrement()
    }
  }

  private final val Helpers = 3
}
