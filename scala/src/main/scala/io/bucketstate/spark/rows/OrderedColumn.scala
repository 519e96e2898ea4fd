package io.bucketstate.spark.rows

import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.types._

/**
 * A number as bytes whose order is that of the numbers, as Spark's `RangeKeyScanStateEncoder` has it:
 * `marker | value`, big-endian, and nothing but zeros behind the marker of null.
 *
 * {{{ marker := 0 negative | 1 other | 2 null }}}
 *
 * Negative fractions have all bits of their value inverted. Thread-safe.
 */
private[rows] final class OrderedColumn(dataType: DataType) {
  import OrderedColumn._

  private[this] val width = dataType.defaultSize
  private[this] val isFraction = dataType == FloatType || dataType == DoubleType

  /** Bytes of every value. */
  val size: Int = 1 + width

  /** Writes column `i` of a row. */
  def write(row: UnsafeRow, i: Int, isNull: Boolean, target: Array[Byte], at: Int): Unit = {
    val bits = if (isNull) 0L else bitsOf(row, i)
    val isNegative = bits < 0
    target(at) = if (isNull) NullMarker else if (isNegative) NegativeMarker else OtherMarker
    val shown = if (isNegative && isFraction) ~bits else bits
    var b = 0
    while (b < width) {
      target(at + 1 + b) = (shown >>> (8 * (width - 1 - b))).toByte
      b += 1
    }
  }

  def isNull(source: Array[Byte], at: Int): Boolean = source(at) == NullMarker

  /** The word of a row's column with the value that was written at `at`, which is not null. */
  def word(source: Array[Byte], at: Int): Long = {
    var bits = 0L
    var b = 0
    while (b < width) {
      bits = (bits << 8) | (source(at + 1 + b) & 0xffL)
      b += 1
    }
    if (isFraction && source(at) == NegativeMarker) ~bits & (-1L >>> (64 - 8 * width)) else bits
  }

  /** The value's bits with its sign in front. */
  private def bitsOf(row: UnsafeRow, i: Int): Long =
    if (width == 8) row.getLong(i)
    else if (width == 4) row.getInt(i).toLong
    else if (width == 2) row.getShort(i).toLong
    else row.getByte(i).toLong
}

private[rows] object OrderedColumn {
  private final val NegativeMarker: Byte = 0
  private final val OtherMarker: Byte = 1
  private final val NullMarker: Byte = 2

  def supports(dataType: DataType): Boolean = dataType match {
    case ByteType | ShortType | IntegerType | LongType | FloatType | DoubleType => true
    case _                                                                      => false
  }
}
