package io.bucketstate.rocksdb

import scala.collection.mutable

import io.bucketstate.table.TimeBuckets

/**
 * Takes out of a database what has expired, which no reader sees any more: a few buckets with each version that is written
 * down, over and over, as long as the horizon of a family moves. For one thread.
 *
 * @param numBuckets of the store
 */
final class ExpiredEntries(database: StateDatabase, numBuckets: Int) {
  import ExpiredEntries._

  private[this] val sweeps = mutable.HashMap.empty[Int, Sweep] // by family

  /** The database holds this version, which cannot be undone. */
  def some(version: WrittenVersion): Unit = {
    val times = version.times
    sweeps.filterInPlace((family, _) => times.contains(family))
    times.foreachEntry((family, now) => some(family, now))
  }

  private def some(family: Int, now: TimeBuckets): Unit = {
    val sweep = sweeps.getOrElseUpdate(family, new Sweep(numBuckets))
    if (sweep.next == numBuckets && now.horizon > sweep.horizon) {
      sweep.horizon = now.horizon
      sweep.next = 0
    }
    val until = math.min(numBuckets, sweep.next + math.max(1, numBuckets / VersionsPerSweep))
    (sweep.next until until).foreach(bucket => database.remove(family, bucket)(!now.shows(_)))
    sweep.next = until
  }
}

private object ExpiredEntries {

  /** All buckets are looked through once in about so many versions. */
  private final val VersionsPerSweep = 32

  /**
   * @param next    bucket that is looked through; behind the last one until the horizon moves
   * @param horizon that it began with
   */
  private final class Sweep(var next: Int, var horizon: Long = 0L)
}
