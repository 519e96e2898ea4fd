package io.bucketstate.checkpoint.records

import java.util.ArrayDeque

import io.bucketstate.record.{Record, RecordOp}

/**
 * The records of one key from several versions, handed over newest first, as the one record they come
 * to: a put or a removal hides what is older, merges are appended to it. Not thread-safe.
 *
 * @param family    number of the key's column family
 * @param mostBytes that the one record may take
 */
private[checkpoint] final class MergeStack(
    newest: Array[Byte],
    newestOp: Byte,
    family: Int,
    mostBytes: Int = Record.MaxLength
) {
  private[this] val values = new ArrayDeque[Array[Byte]]() // oldest first
  private[this] var result = newestOp

  values.push(newest)

  /** Whether an older record makes a difference. */
  def isOpen: Boolean = RecordOp.isOpen(result)

  /** The next older record; only while `isOpen`. */
  def add(record: Array[Byte], op: Byte): Unit =
    if (op == RecordOp.Remove) result = RecordOp.Put
    else {
      values.push(record)
      result = op
    }

  /** There is no older record. */
  def close(): Unit = if (isOpen) result = RecordOp.Put

  def record: Array[Byte] = {
    val length = Record.joinedLength(values)
    if (length > mostBytes) throw Record.tooLong(s"column family number $family", length, mostBytes)
    Record.join(values)
  }

  def op: Byte = result
}
