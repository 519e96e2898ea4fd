package io.bucketstate.table

/**
 * The records of some buckets at a version, in no order.
 *
 * @param bucketAt loads a bucket that is not in memory
 * @param ordered  whether the slots hold cells
 * @param at       the version, counted from the table's base
 */
private[table] final class BucketIterator(
    bucketAt: Int => Bucket,
    from: Int,
    until: Int,
    ordered: Boolean,
    at: Int
) extends RecordScan(at, BucketIterator.Ahead) {
  private[this] var following = from
  private[this] var arrays: Bucket.SlotArrays = _
  private[this] var slot = 0

  override protected def gather(into: Array[AnyRef]): Int = {
    var n = 0
    while (n == 0 && hasSlots) n = gatherFrom(arrays, into)
    n
  }

  override protected def hidden(i: Int): Unit = ()

  /** Goes on to the next bucket at the end of one; false at the end of the last. */
  private def hasSlots: Boolean =
    (arrays != null && slot < arrays.capacity) || following < until && {
      arrays = bucketAt(following).capture()
      following += 1
      slot = 0
      true
    }

  private def gatherFrom(arrays: Bucket.SlotArrays, into: Array[AnyRef]): Int = {
    var i = slot
    var n = 0
    while (n < into.length && i < arrays.capacity) {
      val held = arrays.slots.getAcquire(i)
      if (held != null) {
        into(n) = if (ordered) Slots.content(held) else held
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
}
