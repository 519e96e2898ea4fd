package io.bucketstate.table

/**
 * The records of some buckets at a version, in no order.
 *
 * @param bucketAt loads a bucket that is not in memory
 * @param at       the version, counted from the table's base
 */
private[table] final class BucketIterator(
    bucketAt: Int => Bucket,
    from: Int,
    until: Int,
    at: Int
) extends RecordScan(at, BucketIterator.Ahead) {
  private[this] var following = from
  private[this] var bucket: Bucket = _
  private[this] var arrays: Bucket.SlotArrays = _
  private[this] var slot = 0

  override protected def gather(into: Array[AnyRef]): Int = {
    var n = 0
    while (n == 0 && hasSlots) n = gatherFrom(bucket, arrays, into)
    n
  }

  override protected def hidden(i: Int, held: AnyRef): Unit = ()

  /** Goes on to the next bucket at the end of one; false at the end of the last. */
  private def hasSlots: Boolean =
    (arrays != null && slot < arrays.capacity) || following < until && {
      bucket = bucketAt(following)
      arrays = bucket.capture()
      following += 1
      slot = 0
      true
    }

  private def gatherFrom(
      bucket: Bucket,
      arrays: Bucket.SlotArrays,
      into: Array[AnyRef]
  ): Int = {
    var i = slot
    var n = 0
    while (n < into.length && i < arrays.capacity) {
      val held = arrays.slots.getAcquire(i)
      if (held != null) {
        into(n) = bucket.content(held)
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
