package io.bucketstate.rocksdb.state

import scala.collection.mutable

import io.bucketstate.record.{TimeBuckets, TimedValue}

/**
 * Takes out of a database what has expired, which no reader sees any more. To find it all of a family has to be read, so
 * that is not done for each step of its horizon: what has expired stays until it is a good part of what is there, and then
 * all of it goes in one pass, a few buckets with each version that is written down. For one thread.
 *
 * @param numBuckets of the store
 * @param remove     takes what a test holds for out of a bucket of a family, see [[StateDatabase.remove]]
 */
final class ExpiredEntries(numBuckets: Int, remove: (Int, Int, Array[Byte] => Boolean) => Unit) {
  import ExpiredEntries._

  private[this] val sweeps = mutable.HashMap.empty[Int, Sweep] // by family

  /** The database has come to hold this version: the next of those that it was told of, or the first. */
  def written(version: WrittenVersion): Unit = {
    val times = version.times
    sweeps.filterInPlace((family, _) => times.contains(family))
    times.foreachEntry { (family, next) =>
      val sweep = sweeps.getOrElseUpdate(family, new Sweep(next, numBuckets))
      sweep.expired += expiredBetween(sweep.times, next)
      sweep.times = next
    }
  }

  /** Takes some of it out, if that is due. */
  def some(): Unit = sweeps.foreachEntry { (family, sweep) =>
    val isDue = sweep.expired > 0 && sweep.expired >= sweep.times.keyCount / LivePerExpired
    if (sweep.next == numBuckets && isDue) {
      sweep.next = 0
      sweep.expired = 0L
    }
    val until = math.min(numBuckets, sweep.next + math.max(1, numBuckets / VersionsPerSweep))
    (sweep.next until until).foreach(remove(family, _, !sweep.times.shows(_)))
    sweep.next = until
  }
}

private object ExpiredEntries {

  /** A pass begins when there are no more keys than so many for each that has expired: so many are read in vain. */
  private final val LivePerExpired = 4

  /** All buckets are looked through once in about so many versions. */
  private final val VersionsPerSweep = 32

  /**
   * @param times   of the family at the version that is written down
   * @param next    bucket that is looked through; behind the last one while there is no pass
   * @param expired keys that have expired since the last pass began
   */
  private final class Sweep(var times: TimeBuckets, var next: Int, var expired: Long = 0L)

  /** Keys that were there at a version and have expired at the next one. */
  private def expiredBetween(before: TimeBuckets, after: TimeBuckets): Long =
    if (after.horizon <= before.horizon) 0L
    else {
      val timed = before.keys.rangeUntil(after.horizon).valuesIterator.sum
      val isUntimedOver = before.untimed != TimedValue.Never && before.untimed < after.horizon
      timed + (if (isUntimedOver) before.untimedKeys else 0L)
    }
}
