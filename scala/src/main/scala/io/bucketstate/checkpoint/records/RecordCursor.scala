package io.bucketstate.checkpoint.records

import java.util.Arrays

import io.bucketstate.record.{Record, RecordOp}

/**
 * Records one after another in the order of a run: by family, bucket and key bytes (unsigned), each
 * key once. Stands before the first record until `advance` is called. Not thread-safe.
 */
trait RecordCursor extends AutoCloseable {

  /** Goes to the next record; false when there is none, and from then on. */
  def advance(): Boolean

  def family: Int

  def bucket: Int

  /** Key and value as in [[io.bucketstate.record.Record]], the key alone for a removal. Never changed: it may be kept. */
  def record: Array[Byte]

  /** Which [[io.bucketstate.record.RecordOp]] the record is. */
  def op: Byte

  final def isRemoval: Boolean = !RecordOp.hasValue(op)
}

object RecordCursor {

  /** Where the records that two cursors stand on come in a run's order. */
  private[checkpoint] def compare(a: RecordCursor, b: RecordCursor): Int =
    if (a.family != b.family) Integer.compare(a.family, b.family)
    else if (a.bucket != b.bucket) Integer.compare(a.bucket, b.bucket)
    else Record.compareKeys(a.record, b.record)

  /** Whether two records are of the same key: their lengths in front make one comparison do. */
  private[checkpoint] def hasKeyOf(a: Array[Byte], b: Array[Byte]): Boolean = {
    val end = Record.keyEnd(a)
    b.length >= end && Arrays.equals(a, 0, end, b, 0, end)
  }
}
