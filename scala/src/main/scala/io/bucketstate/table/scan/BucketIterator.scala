package io.bucketstate.table.scan

import scala.collection.mutable

import io.bucketstate.record.TimeBuckets
import io.bucketstate.table.bucket.{Bucket, SlotArrays}
import io.bucketstate.table.entry.{Slots, Visibility}

/**
 * The records of some buckets at a version, in no order. Of a bucket that is not whole first those in memory, and then,
 * of what the cold part has, the keys that memory did not know when this came by: they had not changed since the
 * floor, whatever was written, evicted or found meanwhile. The other way round a key could be missed or come
 * twice.
 *
 * The cold part of a bucket is read while its records in memory, and those of the bucket before it, are looked at.
 *
 * @param bucketAt loads a bucket that is not in memory
 * @param coldAt   begins to read a bucket as the cold part has it, without the keys of some slots
 * @param at       the version, counted from the table's base
 * @param own      of a scan of the open version, see [[RecordScan]]
 * @param times    of that version; null where records do not expire
 */
private[table] final class BucketIterator(
    bucketAt: Int => Bucket,
    coldAt: (Int, Array[AnyRef]) => ReadAhead[Bucket],
    from: Int,
    until: Int,
    at: Int,
    own: OpenScans,
    times: TimeBuckets
) extends RecordScan(at, own, BucketIterator.Ahead, times) {
  import BucketIterator._

  private[this] var following = from
  private[this] var upcoming: Opened = _ // null if it has not been begun
  private[this] var arrays: SlotArrays = _ // what is looked at now, unless that is `known`
  private[this] var known: Array[AnyRef] = _ // slots in memory of a bucket that is not whole
  private[this] var rest: ReadAhead[Bucket] = _ // of that bucket
  private[this] var slot = 0

  override protected def gather(into: Array[AnyRef]): Int = {
    var n = 0
    while (n == 0 && hasSlots)
      n = if (known != null) gatherKnown(into) else gatherFrom(arrays, into)
    n
  }

  override protected def isAtEnd: Boolean =
    slot >= end && known == null && upcoming == null && following == until

  override protected def hidden(i: Int, held: AnyRef): Unit = ()

  /** Goes on to what comes next at the end of what is looked at; false at the end of all. */
  private def hasSlots: Boolean =
    slot < end || (if (known != null) toCold() else toNext())

  private def end: Int =
    if (known != null) known.length else if (arrays != null) arrays.capacity else 0

  private def toCold(): Boolean = {
    val cold = rest.take().capture()
    known = null
    arrays = cold
    rest = null
    slot = 0
    upcoming = begin()
    true
  }

  private def toNext(): Boolean = {
    val next = if (upcoming != null) upcoming else begin()
    upcoming = null
    if (next != null) {
      arrays = next.arrays
      known = next.known
      rest = next.rest
      slot = 0
    }
    next != null
  }

  /** The next bucket, null if there is none. */
  private def begin(): Opened =
    if (following == until) null
    else {
      val number = following
      following += 1
      val captured = bucketAt(number).capture()
      if (captured.isWhole) new Opened(captured, null, null)
      else {
        val slots = knownOf(captured, at, moment)
        new Opened(captured, slots, coldAt(number, slots))
      }
    }

  private def gatherKnown(into: Array[AnyRef]): Int = {
    val n = Math.min(into.length, known.length - slot)
    System.arraycopy(known, slot, into, 0, n)
    slot += n
    n
  }

  private def gatherFrom(arrays: SlotArrays, into: Array[AnyRef]): Int = {
    var i = slot
    var n = 0
    while (n < into.length && i < arrays.capacity) {
      val held = arrays.slots.getAcquire(i)
      if (held != null) {
        into(n) = arrays.content(held)
        n += 1
      }
      i += 1
    }
    slot = i
    n
  }
}

private object BucketIterator {
  private final val Ahead = 64

  /**
   * A bucket that the iterator has come by.
   *
   * @param known what its slots led to then, if it is not whole
   * @param rest  what the cold part has besides
   */
  private final class Opened(
      val arrays: SlotArrays,
      val known: Array[AnyRef],
      val rest: ReadAhead[Bucket]
  )

  /**
   * What slots lead to, but where only the cold part says what a key is at the version. That is looked at once: another
   * look at the same entries could tell something else.
   */
  private def knownOf(arrays: SlotArrays, at: Int, moment: Int): Array[AnyRef] = {
    val found = mutable.ArrayBuilder.make[AnyRef]
    var i = 0
    while (i < arrays.capacity) {
      val held = arrays.slots.getAcquire(i)
      if (held != null) {
        val slot = arrays.content(held)
        if (Visibility.newest(slot, at, moment) ne Slots.Unknown) found += slot
      }
      i += 1
    }
    found.result()
  }
}
