package io.bucketstate.record

import io.bucketstate.error.CorruptException

/**
 * The value of a record that knows its time: a mark, the start of its time bucket, and what Spark gave.
 *
 * {{{ 2 | start u32, little-endian | value bytes }}}
 *
 * Starts are seconds since 1970, unsigned. In a family with times a value without the mark is one of the time before the
 * keys were given times: a compact row, whose first byte is 0 or 1. In a family without times any byte may come first, the
 * mark's, too: an evolving row begins with the number of its schema. So the family says whether to look for the mark, and
 * [[FamilySpec.rowAt]] asks it.
 */
object TimedValue {

  /** First byte of a value that has a time. */
  final val Mark: Byte = 2

  /** Bytes in front of what Spark gave. */
  final val Length = 5

  /** Start of no time bucket: the record never expires. */
  final val Never = 0xffffffffL

  /** What [[startOf]] says of a record without a time. */
  final val Untimed = -1L

  /** Start of the time bucket of a record that is no removal, [[Never]], or [[Untimed]]; in a family with times. */
  def startOf(record: Array[Byte]): Long = {
    val at = Record.keyEnd(record)
    if (at >= record.length || (record(at) == Mark && at + Length > record.length)) throw tooShort()
    if (record(at) != Mark) Untimed
    else
      (record(at + 1) & 0xffL) | (record(at + 2) & 0xffL) << 8 |
        (record(at + 3) & 0xffL) << 16 | (record(at + 4) & 0xffL) << 24
  }

  private def tooShort() = new CorruptException(
    "A value of the state",
    "it ends before its time does",
    "Restore the checkpoint from a backup, or start from a new checkpoint location."
  )

  /** Gives another time to a record that has one. */
  def setStart(record: Array[Byte], start: Long): Unit = {
    put(record, Record.keyEnd(record), start)
    ()
  }

  /** Writes mark and start at `offset`; returns the offset behind them. */
  def put(target: Array[Byte], offset: Int, start: Long): Int = {
    target(offset) = Mark
    target(offset + 1) = start.toByte
    target(offset + 2) = (start >>> 8).toByte
    target(offset + 3) = (start >>> 16).toByte
    target(offset + 4) = (start >>> 24).toByte
    offset + Length
  }

  /** Where what Spark gave begins in a value at `offset`, in a family with times. */
  private[record] def rowAt(record: Array[Byte], offset: Int): Int =
    if (record(offset) == Mark) offset + Length else offset
}
