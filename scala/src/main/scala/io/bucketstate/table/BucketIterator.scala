package io.bucketstate.table

import scala.collection.mutable

/**
 * The records of some buckets at a version, in no order. Of a bucket that is not whole first those in memory, and then,
 * of what the cold part has, the keys that memory did not know when this came by: they had not changed since the
 * floor, whatever was written, evicted or found meanwhile. The other way round a key could be missed or come
 * twice.
 *
 * @param bucketAt loads a bucket that is not in memory
 * @param coldAt   a bucket as the cold part has it, without the keys of some slots
 * @param at       the version, counted from the table's base
 * @param times    of that version; null where records do not expire
 */
private[table] final class BucketIterator(
    bucketAt: Int => Bucket,
    coldAt: (Int, Iterable[AnyRef]) => Bucket,
    from: Int,
    until: Int,
    at: Int,
    times: TimeBuckets
) extends RecordScan(at, BucketIterator.Ahead, times) {
  private[this] var following = from
  private[this] var arrays: SlotArrays = _
  private[this] var slot = 0
  private[this] var decided: mutable.ArrayBuffer[AnyRef] = _ // slots, null in a whole bucket

  override protected def gather(into: Array[AnyRef]): Int = {
    var n = 0
    while (n == 0 && hasSlots) n = gatherFrom(arrays, into)
    n
  }

  override protected def hidden(i: Int, held: AnyRef): Unit = ()

  /** Goes on to what comes next at the end of a bucket's arrays; false at the end of the last. */
  private def hasSlots: Boolean =
    (arrays != null && slot < arrays.capacity) || {
      if (decided != null) {
        goOn(coldAt(following - 1, decided))
        decided = null
        true
      } else
        following < until && {
          goOn(bucketAt(following))
          if (!arrays.isWhole) decided = mutable.ArrayBuffer.empty
          following += 1
          true
        }
    }

  private def goOn(to: Bucket): Unit = {
    arrays = to.capture()
    slot = 0
  }

  /** What was in slots of a bucket that is not whole. */
  private def remember(slots: Array[AnyRef], count: Int): Unit = {
    var i = 0
    while (i < count) {
      decided += slots(i)
      i += 1
    }
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
    if (decided != null) remember(into, n)
    n
  }
}

private object BucketIterator {
  private final val Ahead = 64
}
