package io.bucketstate.spark.rows

import org.apache.spark.sql.catalyst.expressions.UnsafeRow

import io.bucketstate.error.CorruptException
import io.bucketstate.record.{Record, RecordBuffer}

/**
 * Values that are lists of rows: `(varint(length) | row)*`, each row as its codec lays it out. So a
 * list is appended to by putting bytes behind its own. Thread-safe if that is.
 */
private[bucketstate] final class RowListCodec(rows: RowCodec, numFields: Int) {
  import RowListCodec._

  /** Puts one row behind the key in `buffer`. */
  def encode(row: UnsafeRow, buffer: RecordBuffer): Unit =
    buffer.valueDone(append(row, buffer, buffer.keyEnd))

  /** Puts rows behind the key in `buffer`. */
  def encodeAll(all: Array[UnsafeRow], buffer: RecordBuffer): Unit = {
    var end = buffer.keyEnd
    buffer.valueDone(end)
    all.foreach { row =>
      end = append(row, buffer, end)
      buffer.valueDone(end)
    }
  }

  /** The first row of the list that starts at `from` in a record, or null if it is empty. */
  def first(record: Array[Byte], from: Int): UnsafeRow =
    if (from == record.length) null else rowAt(record, from)

  /** All rows of the list that starts at `from` in a record. */
  def all(record: Array[Byte], from: Int): Iterator[UnsafeRow] = new Iterator[UnsafeRow] {
    private[this] var at = from

    override def hasNext: Boolean = at < record.length

    override def next(): UnsafeRow = {
      if (at >= record.length) throw new NoSuchElementException("end of the values")
      val row = rowAt(record, at)
      at = endAt(record, at)
      row
    }
  }

  /** The row's length is known behind it: it is written with room for any, and moved. */
  private def append(row: UnsafeRow, buffer: RecordBuffer, at: Int): Int = {
    val space = buffer.spaceFrom(at, MaxVarint + rows.maxSize(row))
    val end = rows.encode(row, space, at + MaxVarint)
    val length = end - at - MaxVarint
    val start = Record.putVarint(space, at, length)
    System.arraycopy(space, at + MaxVarint, space, start, length)
    start + length
  }

  private def rowAt(record: Array[Byte], at: Int): UnsafeRow = {
    val end = endAt(record, at)
    rows.decode(record, Record.keyStart(record, at), end, new UnsafeRow(numFields))
  }

  /** Where the row ends: a length in front of bytes is what a record's key is, too. */
  private def endAt(record: Array[Byte], at: Int): Int = {
    val length = Record.varint(record, at, record.length)
    val left = if (length < 0) -1 else record.length - Record.keyStart(record, at)
    if (length > left || length < 0) {
      throw new CorruptException(
        "A list of values of the state",
        s"a row of it, at byte $at of a record of ${record.length}, does not end within that",
        "The checkpoint was written with another schema: restart with the query that wrote it, or from " +
          "a new checkpoint location."
      )
    }
    record.length - left + length
  }
}

private object RowListCodec {
  private final val MaxVarint = 5
}
