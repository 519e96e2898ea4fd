package io.bucketstate.table.bucket

import io.bucketstate.record.{TimeBuckets, TimedValue}
import io.bucketstate.table.entry.{Entry, Slots, Stamp}

/**
 * Finds slots whose record has settled and expired, of which nobody needs a trace: in a whole bucket, and only as far as
 * the cold part has the very record, because others may hide what it has. Used again for each look, so that none of them
 * allocates anything. The writer's.
 *
 * @param most slots of one look
 */
private[table] final class BucketSweep(most: Int) {
  private[this] val places = new Array[Int](most)
  private[this] var found = 0
  private[this] var bytes = 0L

  /** Slots that the last look found. */
  def count: Int = found

  /** One of them. */
  def slot(n: Int): Int = places(n)

  /** Heap of their records. */
  def freed: Long = bytes

  /**
   * Looks at some slots of arrays with times.
   *
   * @param from  the first of them
   * @param times of the oldest version that can be read
   * @param floor version of the cold part, counted from the table's base
   * @return the slot to go on with
   */
  def look(a: SlotArrays, from: Int, times: TimeBuckets, floor: Int): Int = {
    val until = Math.min(a.capacity, from + places.length)
    found = 0
    bytes = 0L
    var i = from
    var due = 0
    while (i < until) {
      if ((a.starts(i) & 0xffffffffL) < times.horizon) {
        places(due) = i
        due += 1
      }
      i += 1
    }
    // Each record is a wait for memory: they are all looked at before anything is done.
    var n = 0
    while (n < due) {
      consider(a, places(n), times, floor)
      n += 1
    }
    until
  }

  private def consider(a: SlotArrays, i: Int, times: TimeBuckets, floor: Int): Unit = {
    val slot = a.slots.getPlain(i)
    if (!slot.isInstanceOf[Entry]) {
      val record = slot.asInstanceOf[Array[Byte]]
      if (a.starts(i) == 0 && times.shows(record))
        a.starts(i) = SlotArrays.hint(TimedValue.startOf(record))
      else if (!Stamp.isAbove(a.stampAt(i), floor)) {
        bytes += Slots.heap(record)
        places(found) = i
        found += 1
      }
    }
  }
}
