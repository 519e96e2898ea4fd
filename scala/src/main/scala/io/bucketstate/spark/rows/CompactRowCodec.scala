package io.bucketstate.spark.rows

import java.nio.ByteOrder

import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.types.StructType
import org.apache.spark.unsafe.Platform
import org.apache.spark.unsafe.Platform.BYTE_ARRAY_OFFSET

import io.bucketstate.error.CorruptException
import io.bucketstate.record.Record

/**
 * Rows as compact bytes: an `UnsafeRow` without what its schema already says (padding, offsets, unused
 * halves of words). Typically a quarter smaller, in memory as on disk.
 *
 * {{{
 *   row     := 1 | nulls | fixed | variable            compact
 *            | 0 | the UnsafeRow's bytes               raw, when compact would not give back the same bytes
 *   nulls   := ceil(fields / 8) bytes, bit i of byte i / 8 set when field i is null
 *   fixed   := every fixed-width field in order, 1, 2, 4 or 8 bytes by its type, little-endian
 *   variable:= every other field in order: varint(length) | bytes
 * }}}
 *
 * Decoding gives back the very bytes that were encoded, and equal rows have equal encodings (the choice
 * between compact and raw depends on the bytes alone): so encoded keys can be compared and hashed in
 * place of rows.
 *
 * Thread-safe: holds nothing but the schema's layout.
 *
 * @param what the rows are, for an error
 */
private[spark] final class CompactRowCodec(schema: StructType, what: String) extends RowCodec {
  import CompactRowCodec._

  private[this] val numFields = schema.length
  private[this] val widths: Array[Int] = schema.fields.map(f => Shape.fixedWidth(f.dataType))
  private[this] val hasVariable = widths.contains(0)
  private[this] val nullBytes = (numFields + 7) / 8
  private[this] val bitSetBytes = UnsafeRow.calculateBitSetWidthInBytes(numFields)
  private[this] val rowFixedBytes = bitSetBytes + 8 * numFields
  private[this] val minimumSize = 1 + nullBytes + widths.sum
  private[this] val shape = RowShape.of(schema)
  private[this] val littleEndian = ByteOrder.nativeOrder() == ByteOrder.LITTLE_ENDIAN

  override def maxSize(row: UnsafeRow): Int = row.getSizeInBytes + nullBytes + 1 + 5 * numFields

  /** Asks the row's bytes alone: Spark's own index of TTLs hands in keys that claim more fields than they have. */
  override def encode(row: UnsafeRow, target: Array[Byte], offset: Int): Int = {
    val fits = littleEndian && row.getSizeInBytes >= rowFixedBytes
    val end = if (fits) encodeCompact(row, target, offset) else -1
    if (end >= 0) end
    else {
      target(offset) = Raw
      row.writeToMemory(target, BYTE_ARRAY_OFFSET.toLong + offset + 1)
      offset + 1 + row.getSizeInBytes
    }
  }

  /** -1 when decoding would not give back exactly the bytes of `row`. */
  private def encodeCompact(row: UnsafeRow, target: Array[Byte], offset: Int): Int = {
    val base = row.getBaseObject
    val rowStart = row.getBaseOffset
    val rowSize = row.getSizeInBytes
    target(offset) = Compact
    val nulls = encodeNulls(base, rowStart, target, offset + 1)
    if (nulls == Impossible) return -1
    val hasNulls = nulls == SomeNulls
    var out = BYTE_ARRAY_OFFSET.toLong + offset + 1 + nullBytes
    var i = 0
    while (i < numFields) {
      val width = widths(i)
      if (width > 0) {
        val word = Platform.getLong(base, rowStart + bitSetBytes + 8L * i)
        if (width == 8) Platform.putLong(target, out, word)
        else {
          if ((word >>> (8 * width)) != 0L) return -1
          if (width == 4) Platform.putInt(target, out, word.toInt)
          else if (width == 1) Platform.putByte(target, out, word.toByte)
          else Platform.putShort(target, out, word.toShort)
        }
        if (hasNulls && word != 0L && isNull(target, offset + 1, i)) return -1
        out += width
      }
      i += 1
    }
    var position = (out - BYTE_ARRAY_OFFSET).toInt
    var expected =
      rowFixedBytes // where the next variable field's bytes must lie in a canonical row
    if (hasVariable) {
      i = 0
      while (i < numFields) {
        if (widths(i) == 0) {
          val word = Platform.getLong(base, rowStart + bitSetBytes + 8L * i)
          if (hasNulls && isNull(target, offset + 1, i)) {
            if (word != 0L) return -1
            position = Record.putVarint(target, position, 0)
          } else {
            val length = word.toInt
            if ((word >>> 32).toInt != expected || length < 0) return -1
            val padded = paddedTo8(length)
            if (padded < length || padded > rowSize - expected) return -1
            if (!zeroPadded(base, rowStart + expected, length, padded)) return -1
            position = Record.putVarint(target, position, length)
            Platform.copyMemory(
              base,
              rowStart + expected,
              target,
              BYTE_ARRAY_OFFSET.toLong + position,
              length.toLong
            )
            position += length
            expected += padded
          }
        }
        i += 1
      }
    }
    if (expected == rowSize) position else -1
  }

  /** `NoNulls`, `SomeNulls`, or `Impossible` if a field is null that there is not. */
  private def encodeNulls(base: AnyRef, rowStart: Long, target: Array[Byte], at: Int): Int = {
    var any = 0L
    var done = 0
    while (done < bitSetBytes) {
      val word = Platform.getLong(base, rowStart + done)
      any |= word
      var b = 0
      if (word == 0L) { // the usual case: nothing is null
        while (b < 8 && done + b < nullBytes) {
          target(at + done + b) = 0
          b += 1
        }
      } else
        while (b < 8) {
          val bits = (word >>> (8 * b)).toByte
          if (done + b < nullBytes) target(at + done + b) = bits
          else if (bits != 0) return Impossible
          b += 1
        }
      done += 8
    }
    if (any == 0L) NoNulls
    // Bits past the last field have no field to belong to.
    else if ((numFields & 7) != 0 && (target(at + nullBytes - 1) & 0xff) >>> (numFields & 7) != 0)
      Impossible
    else SomeNulls
  }

  /** In bytes of its own (or, if raw, in `source`, which is never changed). */
  override def decode(source: Array[Byte], offset: Int, end: Int, row: UnsafeRow): UnsafeRow =
    decode(source, offset, end, row, null)

  override def decode(source: Array[Byte], offset: Int, end: Int, space: RowSpace): UnsafeRow =
    decode(source, offset, end, space.row, space)

  private def decode(
      source: Array[Byte],
      offset: Int,
      end: Int,
      row: UnsafeRow,
      space: RowSpace
  ): UnsafeRow = {
    if (end - offset >= 1 && source(offset) == Raw) {
      if (!shape.fits(source, offset + 1, end - offset - 1)) throw mismatch()
      row.pointTo(source, BYTE_ARRAY_OFFSET.toLong + offset + 1, end - offset - 1)
    } else {
      if (end - offset < minimumSize || source(offset) != Compact) throw mismatch()
      // Who asks for no columns gets none: Spark's tools read keys that way.
      if (numFields == 0) row.pointTo(Array.emptyByteArray, 0)
      else decodeCompact(source, offset, end, row, space)
    }
    row
  }

  private def decodeCompact(
      source: Array[Byte],
      offset: Int,
      end: Int,
      row: UnsafeRow,
      space: RowSpace
  ): Unit = {
    val nulls = offset + 1
    val size = decodedSize(source, offset + minimumSize, end)
    val bytes = if (space == null) new Array[Byte](size) else space.bytes(size)
    zero(bytes, 0, bitSetBytes)
    var b = 0
    while (b < nullBytes) {
      bytes(b) = source(nulls + b)
      b += 1
    }
    var position = BYTE_ARRAY_OFFSET.toLong + nulls + nullBytes
    var variable = offset + minimumSize
    var next = rowFixedBytes
    var i = 0
    while (i < numFields) {
      val out = BYTE_ARRAY_OFFSET.toLong + bitSetBytes + 8L * i
      val width = widths(i)
      // Every word is written whole: the bytes may be those of another row.
      if (width == 8) Platform.putLong(bytes, out, Platform.getLong(source, position))
      else if (width == 4)
        Platform.putLong(bytes, out, Platform.getInt(source, position) & 0xffffffffL)
      else if (width == 1) Platform.putLong(bytes, out, Platform.getByte(source, position) & 0xffL)
      else if (width == 2)
        Platform.putLong(bytes, out, Platform.getShort(source, position) & 0xffffL)
      else {
        val length = Record.varint(source, variable, end)
        variable += Record.varintSize(length)
        if (isNull(source, nulls, i)) {
          if (length != 0) throw mismatch()
          Platform.putLong(bytes, out, 0L)
        } else {
          Platform.putLong(bytes, out, (next.toLong << 32) | length)
          val padded = paddedTo8(length)
          if (padded > length) zero(bytes, next + padded - 8, 8)
          System.arraycopy(source, variable, bytes, next, length)
          variable += length
          next += padded
        }
      }
      position += width
      i += 1
    }
    if (shape.isDeep && !shape.fits(bytes, 0, size)) throw mismatch()
    row.pointTo(bytes, size)
  }

  private def decodedSize(source: Array[Byte], variableStart: Int, end: Int): Int = {
    var size = rowFixedBytes
    var variable = variableStart
    var i = 0
    while (i < numFields) {
      if (widths(i) == 0) {
        val length = Record.varint(source, variable, end)
        variable += Record.varintSize(length)
        if (length < 0 || length > end - variable) throw mismatch()
        variable += length
        size += paddedTo8(length)
      }
      i += 1
    }
    if (variable != end) throw mismatch()
    size
  }

  private def zero(bytes: Array[Byte], from: Int, length: Int): Unit = {
    var at = from
    while (at < from + length) {
      Platform.putLong(bytes, BYTE_ARRAY_OFFSET.toLong + at, 0L)
      at += 8
    }
  }

  private def isNull(bytes: Array[Byte], nulls: Int, field: Int): Boolean =
    (bytes(nulls + (field >> 3)) & (1 << (field & 7))) != 0

  private def mismatch(): CorruptException = RowShape.mismatch(what, schema)
}

private[rows] object CompactRowCodec {

  private final val Raw: Byte = 0
  private final val Compact: Byte = 1

  private final val Impossible = -1
  private final val NoNulls = 0
  private final val SomeNulls = 1

  def paddedTo8(n: Int): Int = (n + 7) & ~7

  private def zeroPadded(base: AnyRef, start: Long, length: Int, padded: Int): Boolean =
    length == padded ||
      (Platform.getLong(base, start + padded - 8) >>> (8 * (8 - (padded - length)))) == 0L
}
