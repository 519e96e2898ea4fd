package io.bucketstate.table

import io.bucketstate.bucket.{BucketAssigner, BucketKey}

/** A bucket while it is being loaded, seen by nobody else. For one thread. */
private[table] final class BucketFilling(
    number: Int,
    bucketKey: BucketKey,
    assigner: BucketAssigner,
    index: OrderedIndex
) extends RecordSink {
  private[this] val key = new RecordBuffer(assigner)
  private[this] var recordBytes = 0L
  private[this] var keyCount = 0L

  val bucket: Bucket = new Bucket

  def keys: Long = keyCount

  /** Heap that the records take. */
  def bytes: Long = recordBytes

  override def apply(record: Array[Byte], isRemoval: Boolean): Unit = {
    key.keyOf(record, 0, bucketKey)
    if (key.bucket != number) {
      throw new IllegalArgumentException(
        s"a record of bucket ${key.bucket} was handed out as one of $number"
      )
    }
    val i = bucket.indexOf(key)
    if (i >= 0) {
      recordBytes -= FamilyTable.arraySize(Bucket.recordOf(bucket.at(i)))
      if (isRemoval) {
        if (index != null) index.remove(record)
        bucket.free(i)
        keyCount -= 1
      } else bucket.replace(i, record)
    } else if (!isRemoval) {
      bucket.insert(key.hash, record)
      if (index != null) index.add(record)
      keyCount += 1
    }
    if (!isRemoval) recordBytes += FamilyTable.arraySize(record)
  }
}
