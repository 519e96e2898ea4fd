package io.bucketstate.checkpoint.run

import java.util.Arrays

import io.bucketstate.record.{TimeBuckets, TimedValue}

/**
 * How a run is cut by time, so that what is old has files of its own, which one day need not be read to be dropped.
 * Immutable.
 *
 * @param timed  the families whose records have times
 * @param bounds ascending; a slice has the times from one of them on, and below the next; null where nothing is cut
 */
final class TimeSlices private (timed: Set[Int], bounds: Array[Long]) {

  /** How many there are. Of several the last is for what has no time, or never expires. */
  val count: Int = if (bounds == null) 1 else bounds.length + 2

  /** Whether records of a family have times. */
  def isTimed(family: Int): Boolean = timed(family)

  /** The slice of a record whose time bucket starts so. */
  def of(start: Long): Int =
    if (bounds == null) 0
    else if (start == TimedValue.Untimed || start == TimedValue.Never) count - 1
    else {
      val i = Arrays.binarySearch(bounds, start)
      if (i >= 0) i + 1 else -i - 1
    }
}

object TimeSlices {

  /** No record has a time. */
  val None: TimeSlices = new TimeSlices(Set.empty, null)

  /** There are so many for records that can expire: each is an open file more while a run is written. */
  private final val Most = 8

  /**
   * @param times of the families whose records have times, by number
   * @param isCut whether a run of them is to be cut, which must have no tombstones: else its files only tell their times
   */
  def of(times: Map[Int, TimeBuckets], isCut: Boolean): TimeSlices =
    if (times.isEmpty) None
    else
      new TimeSlices(times.keySet, if (isCut) boundsOf(times.values.flatMap(_.keys.keys)) else null)

  private def boundsOf(times: Iterable[Long]): Array[Long] = {
    val starts = times.filter(_ != TimedValue.Never).toArray.distinct.sorted
    val each = math.max(1, (starts.length + Most - 1) / Most)
    starts.grouped(each).map(_.head).drop(1).toArray
  }
}
