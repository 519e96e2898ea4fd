package io.bucketstate.record

import scala.collection.immutable.SortedMap

/**
 * How the records of a family age: as in Apex's `TimeBucketAssigner`, time is cut into buckets of a fixed span, and
 * what lies in a bucket expires together.
 *
 * @param span             of a time bucket, in seconds
 * @param after            seconds after which a record expires, counted from the newest time bucket seen; None for never:
 *                         then the horizon follows what is removed
 * @param byProcessingTime whether a record's time is that of the version that last wrote it
 */
final case class Expiry(span: Long, after: Option[Long], byProcessingTime: Boolean) {

  /** Start of the time bucket of a time in seconds since 1970; what is out of range lies in the first or the last. */
  def startOf(second: Long): Long =
    Math.max(0L, Math.min(Math.floorDiv(second, span) * span, TimedValue.Never - 1))
}

object Expiry {

  /** The expiry of a checkpoint whose records have times, while nothing expires. */
  val None: Expiry = Expiry(1L, scala.None, byProcessingTime = false)
}

/**
 * The time buckets of a family at one version. All times are starts of time buckets, in seconds since 1970. Immutable.
 *
 * @param newest      start of the newest time bucket that was seen, [[TimeBuckets.NoTime]] before the first
 * @param horizon     what lies in time buckets that start before it has expired; it never moves back
 * @param untimed     which time bucket records without a time count as being in; `TimedValue.Never` until that is known
 * @param untimedKeys keys of such records
 * @param keys        by time bucket, those that never expire included, without those that have expired
 */
final case class TimeBuckets(
    newest: Long,
    horizon: Long,
    untimed: Long,
    untimedKeys: Long,
    keys: SortedMap[Long, Long]
) {

  /** Keys that have not expired, counted exactly. */
  def keyCount: Long = untimedKeys + keys.valuesIterator.sum

  /** Whether nothing is counted that has expired. */
  def isLiving: Boolean =
    (untimedKeys == 0 || untimed >= horizon) &&
      keys.forall { case (start, count) => count == 0 || start >= horizon }

  /** Whether a record that is no removal has not expired. */
  def shows(record: Array[Byte]): Boolean = {
    val start = TimedValue.startOf(record)
    (if (start == TimedValue.Untimed) untimed else start) >= horizon
  }
}

object TimeBuckets {
  final val NoTime = -1L

  /** The time buckets of a state whose records have no times yet. */
  def ofUntimed(keys: Long): TimeBuckets =
    TimeBuckets(NoTime, 0L, TimedValue.Never, keys, SortedMap.empty)
}
