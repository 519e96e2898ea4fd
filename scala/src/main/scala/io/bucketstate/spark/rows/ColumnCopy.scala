package io.bucketstate.spark.rows

import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.Platform
import org.apache.spark.unsafe.Platform.BYTE_ARRAY_OFFSET

/**
 * Some columns of a row as a row of their own, byte for byte what Spark's `UnsafeProjection` of them gives,
 * without its generated code: compiling that takes longer than all else where a store is opened for the first
 * time in a JVM, and looking it up again is a good part of opening one.
 *
 * Thread-safe.
 *
 * @param fields the columns in the order of the new row, each of a type that [[ColumnCopy.supports]]
 * @param from   where each is in the row it is taken from, or, from the row's number of fields on, in a second
 *               row; negative for one that the caller puts in, which has nothing behind the words
 */
private[rows] final class ColumnCopy(fields: Array[StructField], from: Array[Int]) {
  import ColumnCopy._

  private[this] val numFields = fields.length
  private[this] val widths = fields.map(field => widthOf(field.dataType))
  private[this] val nullable = fields.map(_.nullable)
  private[this] val bitSetBytes = UnsafeRow.calculateBitSetWidthInBytes(numFields)

  /** Bytes of the new row without what lies behind its words. */
  val fixedBytes: Int = bitSetBytes + WordBytes * numFields

  /** Bytes of the new row; negative if what is to be copied does not lie within the row that it is taken from. */
  def size(row: UnsafeRow): Int = size(row, row)

  def size(first: UnsafeRow, second: UnsafeRow): Int = {
    var bytes = fixedBytes
    var i = 0
    while (i < numFields) {
      if (from(i) >= 0 && widths(i) == Variable) {
        val row = if (from(i) < first.numFields) first else second
        val column = if (row eq first) from(i) else from(i) - first.numFields
        if (!isNull(row, column, i)) {
          val word = wordOf(row, column)
          val length = word.toInt
          if (length < 0 || (word >>> 32) > row.getSizeInBytes - length) return -1
          bytes += CompactRowCodec.paddedTo8(length)
        }
      }
      i += 1
    }
    bytes
  }

  /** Writes the new row at `offset`, where `size(row)` bytes are free; returns the offset behind it. */
  def write(row: UnsafeRow, target: Array[Byte], offset: Int): Int = write(row, row, target, offset)

  def write(first: UnsafeRow, second: UnsafeRow, target: Array[Byte], offset: Int): Int = {
    val start = BYTE_ARRAY_OFFSET.toLong + offset
    var at = 0
    while (at < bitSetBytes) {
      Platform.putLong(target, start + at, 0L)
      at += WordBytes
    }
    var end = fixedBytes
    var i = 0
    while (i < numFields) {
      if (from(i) >= 0) {
        val place = start + bitSetBytes + WordBytes * i
        val row = if (from(i) < first.numFields) first else second
        val column = if (row eq first) from(i) else from(i) - first.numFields
        if (isNull(row, column, i)) {
          setNull(target, offset, i)
          Platform.putLong(target, place, 0L)
        } else {
          val word = wordOf(row, column)
          if (widths(i) != Variable) Platform.putLong(target, place, word & widths(i))
          else {
            val length = word.toInt
            Platform.putLong(target, place, (end.toLong << 32) | length)
            val size = CompactRowCodec.paddedTo8(length)
            if (size > length) Platform.putLong(target, start + end + size - WordBytes, 0L)
            val source = row.getBaseOffset + (word >>> 32)
            Platform.copyMemory(row.getBaseObject, source, target, start + end, length.toLong)
            end += size
          }
        }
      }
      i += 1
    }
    offset + end
  }

  /** Puts the value of a column that the caller puts in into the row that was written at `offset`. */
  def putWord(target: Array[Byte], offset: Int, column: Int, word: Long): Unit =
    Platform.putLong(
      target,
      BYTE_ARRAY_OFFSET.toLong + offset + bitSetBytes + WordBytes * column,
      word
    )

  /** Makes that column null. */
  def putNull(target: Array[Byte], offset: Int, column: Int): Unit = {
    setNull(target, offset, column)
    putWord(target, offset, column, 0L)
  }

  /** Spark's projections do not ask of a column that it is null where the schema says that it never is. */
  private def isNull(row: UnsafeRow, column: Int, i: Int): Boolean =
    nullable(i) && row.isNullAt(column)

  private def wordOf(row: UnsafeRow, column: Int): Long = Platform.getLong(
    row.getBaseObject,
    row.getBaseOffset + UnsafeRow.calculateBitSetWidthInBytes(row.numFields) + WordBytes * column
  )

  private def setNull(target: Array[Byte], offset: Int, column: Int): Unit = {
    val at = offset + (column >> 3) // bits are numbered from the lowest of a little-endian word
    target(at) = (target(at) | (1 << (column & 7))).toByte
  }
}

private[rows] object ColumnCopy {

  private final val WordBytes = 8
  private final val Variable = 0L

  /** Whether columns of the type are copied as they are by Spark, too. Structs come with all that is in them. */
  def supports(dataType: DataType): Boolean = dataType match {
    case BooleanType | ByteType | ShortType | IntegerType | LongType | FloatType | DoubleType =>
      true
    case DateType | TimestampType | TimestampNTZType => true
    case StringType | BinaryType | _: StructType     => true
    case _                                           => false
  }

  /** The bits of a word that hold the value, none where it lies behind the words. */
  private def widthOf(dataType: DataType): Long = dataType match {
    case BooleanType | ByteType                                   => 0xffL
    case ShortType                                                => 0xffffL
    case IntegerType | FloatType | DateType                       => 0xffffffffL
    case LongType | DoubleType | TimestampType | TimestampNTZType => -1L
    case _                                                        => Variable
  }
}
