package io.bucketstate.table

import io.bucketstate.bucket.{BucketAssigner, BucketKey}

/** A bucket while it is being loaded, seen by nobody else. For one thread. */
private[table] final class BucketFilling(
    number: Int,
    bucketKey: BucketKey,
    assigner: BucketAssigner,
    index: FamilyIndex
) extends RecordSink {
  private[this] val key = new RecordBuffer(assigner)
  private[this] var recordBytes = 0L
  private[this] var keyCount = 0L

  val bucket: Bucket = new Bucket(index)

  def keys: Long = keyCount

  /** The bucket is of no use: takes back what the index was told of it. */
  def discard(): Unit = if (index != null) {
    val slots = bucket.capture().slots
    (0 until slots.length).foreach { i =>
      slots.getPlain(i) match {
        case cell: Cell => index.remove(cell)
        case _          => ()
      }
    }
  }

  /** Heap that the records take. */
  def bytes: Long = recordBytes

  override def apply(record: Array[Byte], op: Byte): Unit = {
    key.keyOf(record, 0, bucketKey)
    if (key.bucket != number) {
      throw new IllegalArgumentException(
        s"a record of bucket ${key.bucket} was handed out as one of $number"
      )
    }
    val i = bucket.indexOf(key)
    if (i < 0) {
      if (op != RecordOp.Remove) add(record)
    } else if (op == RecordOp.Remove) remove(i)
    else if (op == RecordOp.Merge) {
      // Entries count versions from the base version, which is where the bucket is loaded at.
      replace(i, MergeChain.onto(bucket.at(i), record, key.hash, number, version = 0))
    } else replace(i, record)
  }

  private def add(record: Array[Byte]): Unit = {
    bucket.insert(key.hash, record)
    keyCount += 1
    recordBytes += Slots.heap(record)
  }

  private def replace(i: Int, slot: AnyRef): Unit = {
    recordBytes += MergeChain.heap(slot, null) - MergeChain.heap(bucket.at(i), null)
    bucket.replace(i, slot)
  }

  private def remove(i: Int): Unit = {
    recordBytes -= MergeChain.heap(bucket.at(i), null)
    bucket.free(i)
    keyCount -= 1
  }
}
