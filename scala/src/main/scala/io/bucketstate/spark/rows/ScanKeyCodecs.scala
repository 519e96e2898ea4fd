package io.bucketstate.spark.rows

import java.util.{Arrays => JArrays}

import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.types.StructType
import org.apache.spark.unsafe.Platform
import org.apache.spark.unsafe.Platform.BYTE_ARRAY_OFFSET

import io.bucketstate.error.CorruptException
import io.bucketstate.record.{BucketKey, Record, RecordBuffer}

/**
 * Keys that are scanned by a part of them, as the bytes that Spark's own encoder of the same specification
 * gives: checkpoints that were written with those are read. Only for schemas that [[ColumnCopy]] knows.
 *
 * A part of a key is `0 | UnsafeRow`, 0 being the version of Spark's encoding.
 */
private[rows] abstract class ScanKeyCodec(schema: StructType, bucketKey: BucketKey, what: String)
    extends KeyCodec {
  import ScanKeyCodec._

  override val numFields: Int = schema.length

  /** Bytes of the encoded key. */
  protected def size(key: UnsafeRow): Int

  /** Writes the encoded key at `offset`, where `size(key)` bytes are free. */
  protected def write(key: UnsafeRow, target: Array[Byte], offset: Int): Unit

  /** The key whose encoding lies in `source` from `from` until `end`. */
  protected def read(source: Array[Byte], from: Int, end: Int, space: RowSpace): UnsafeRow

  override def encode(key: UnsafeRow, buffer: RecordBuffer): Unit = {
    val bytes = size(key)
    write(key, buffer.keySpace(bytes), RecordBuffer.KeyOffset)
    buffer.keyDone(RecordBuffer.KeyOffset + bytes, bucketKey)
  }

  override def encodeKey(key: UnsafeRow): Array[Byte] = {
    val bytes = new Array[Byte](size(key))
    write(key, bytes, 0)
    bytes
  }

  override def decode(record: Array[Byte], space: RowSpace): UnsafeRow =
    read(record, Record.keyStart(record), Record.keyEnd(record), space)

  /** A copy of these columns. */
  protected def columns(which: Seq[Int]): ColumnCopy =
    new ColumnCopy(which.map(schema(_)).toArray, which.toArray)

  /** A copy of all columns from rows that have only these; the caller puts in the others. */
  protected def restoring(which: Seq[Int]): ColumnCopy =
    new ColumnCopy(schema.fields, schema.indices.map(which.indexOf(_)).toArray)

  protected def writePart(
      columns: ColumnCopy,
      key: UnsafeRow,
      target: Array[Byte],
      offset: Int
  ): Int = {
    target(offset) = Version
    columns.write(key, target, offset + VersionBytes)
  }

  /** Makes a part of a row that the caller has made, a prefix to scan by, in the target that it returns. */
  protected def part(row: UnsafeRow, target: Array[Byte], offset: Int): Array[Byte] = {
    target(offset) = Version
    row.writeToMemory(target, BYTE_ARRAY_OFFSET.toLong + offset + VersionBytes)
    target
  }

  /** Makes a row out of those of its parts in the bytes of `space`, which are returned for what is to be put in. */
  protected def restore(
      all: ColumnCopy,
      first: UnsafeRow,
      second: UnsafeRow,
      space: RowSpace
  ): Array[Byte] = {
    val size = all.size(first, second)
    if (size < 0) throw mismatch()
    val target = space.bytes(size)
    all.write(first, second, target, 0)
    space.row.pointTo(target, size)
    target
  }

  protected def mismatch(): CorruptException = RowShape.mismatch(what, schema)

  /** What the columns have to be like, in a part. */
  protected def shapeOf(which: Seq[Int]): RowShape =
    RowShape.projected(which.map(schema(_)).toArray)

  /** Makes a row of the bytes of a part; they stay where they are. What can be no part is damage. */
  protected def pointTo(
      row: UnsafeRow,
      shape: RowShape,
      source: Array[Byte],
      from: Int,
      end: Int
  ): Unit = {
    val size = end - from - VersionBytes
    // Rows are read without bounds.
    if (
      from < 0 || end > source.length || size < 0 || !shape.fits(source, from + VersionBytes, size)
    )
      throw mismatch()
    row.pointTo(source, BYTE_ARRAY_OFFSET.toLong + from + VersionBytes, size)
  }
}

private[rows] object ScanKeyCodec {
  final val Version: Byte = 0
  final val VersionBytes = 1
  final val LengthBytes = 4
}

/**
 * Keys that are found by their first columns: `length of the prefix (native-endian int) | prefix | rest`, both
 * parts. Not thread-safe.
 */
private[rows] final class PrefixKeyCodec(
    schema: StructType,
    prefixFields: Int,
    bucketKey: BucketKey,
    what: String
) extends ScanKeyCodec(schema, bucketKey, what) {
  import ScanKeyCodec._

  private[this] val prefixes = columns(0 until prefixFields)
  private[this] val rests = columns(prefixFields until schema.length)
  private[this] val all = restoring(schema.indices)
  private[this] val prefix = new UnsafeRow(prefixFields)
  private[this] val prefixShape = shapeOf(0 until prefixFields)
  private[this] val rest = new UnsafeRow(schema.length - prefixFields)
  private[this] val restShape = shapeOf(prefixFields until schema.length)

  override def scansPrefixes: Boolean = true
  override def scansRanges: Boolean = false
  override def removesRanges: Boolean = false

  override protected def size(key: UnsafeRow): Int =
    LengthBytes + 2 * VersionBytes + prefixes.size(key) + rests.size(key)

  override protected def write(key: UnsafeRow, target: Array[Byte], offset: Int): Unit = {
    val start = offset + LengthBytes
    val end = writePart(prefixes, key, target, start)
    Platform.putInt(target, BYTE_ARRAY_OFFSET.toLong + offset, end - start)
    writePart(rests, key, target, end)
    ()
  }

  override protected def read(
      source: Array[Byte],
      from: Int,
      end: Int,
      space: RowSpace
  ): UnsafeRow = {
    val start = from + LengthBytes
    if (start > end) throw mismatch()
    val middle = start + Platform.getInt(source, BYTE_ARRAY_OFFSET.toLong + from)
    if (middle > end) throw mismatch()
    pointTo(prefix, prefixShape, source, start, middle)
    pointTo(rest, restShape, source, middle, end)
    restore(all, prefix, rest, space)
    space.row
  }

  override def encodePrefix(wanted: UnsafeRow): Array[Byte] = {
    val bytes = new Array[Byte](LengthBytes + VersionBytes + wanted.getSizeInBytes)
    Platform.putInt(bytes, BYTE_ARRAY_OFFSET.toLong, bytes.length - LengthBytes)
    part(wanted, bytes, LengthBytes)
  }
}

/**
 * Keys in the order of some columns: `length of the ordered part | ordered part | rest`, the ordered part a row
 * of binary columns, each as [[OrderedColumn]] has it. Not thread-safe.
 */
private[rows] final class RangeKeyCodec(
    schema: StructType,
    ordering: Array[Int],
    bucketKey: BucketKey,
    what: String
) extends ScanKeyCodec(schema, bucketKey, what) {
  import ScanKeyCodec._

  private[this] val ordered = ordering.map(i => new OrderedColumn(schema(i).dataType))
  private[this] val mayBeNull = ordering.map(schema(_).nullable)
  private[this] val others = schema.indices.diff(ordering.toSeq)
  private[this] val rests = columns(others)
  private[this] val all = restoring(others)
  private[this] val rest = new UnsafeRow(others.length)
  private[this] val restShape = shapeOf(others)
  private[this] val bitSetBytes = UnsafeRow.calculateBitSetWidthInBytes(ordering.length)

  /** Where each ordered column lies in its part, and where the part ends. */
  private[this] val places = ordered.scanLeft(VersionBytes + bitSetBytes + 8 * ordering.length) {
    (at, column) => at + CompactRowCodec.paddedTo8(column.size)
  }
  private[this] val orderedBytes = places.last

  override def scansPrefixes: Boolean = true
  override def scansRanges: Boolean = true
  override def removesRanges: Boolean = true

  override protected def size(key: UnsafeRow): Int =
    LengthBytes + orderedBytes + VersionBytes + rests.size(key)

  override protected def write(key: UnsafeRow, target: Array[Byte], offset: Int): Unit = {
    val start = offset + LengthBytes
    Platform.putInt(target, BYTE_ARRAY_OFFSET.toLong + offset, orderedBytes)
    JArrays.fill(target, start, start + orderedBytes, 0.toByte)
    var i = 0
    while (i < ordered.length) {
      val isNull = mayBeNull(i) && key.isNullAt(ordering(i))
      writeOrdered(key, ordering(i), isNull, target, start, i)
      i += 1
    }
    writePart(rests, key, target, start + orderedBytes)
    ()
  }

  private def writeOrdered(
      row: UnsafeRow,
      column: Int,
      isNull: Boolean,
      target: Array[Byte],
      start: Int,
      i: Int
  ): Unit = {
    val place = places(i) - VersionBytes // counted from where the row starts
    val word = (place.toLong << 32) | ordered(i).size
    val at = BYTE_ARRAY_OFFSET.toLong + start + VersionBytes + bitSetBytes + 8 * i
    Platform.putLong(target, at, word)
    ordered(i).write(row, column, isNull, target, start + places(i))
  }

  override protected def read(
      source: Array[Byte],
      from: Int,
      end: Int,
      space: RowSpace
  ): UnsafeRow = {
    val start = from + LengthBytes
    pointTo(rest, restShape, source, start + orderedBytes, end)
    val target = restore(all, rest, rest, space)
    var i = 0
    while (i < ordered.length) {
      val at = start + places(i)
      if (ordered(i).isNull(source, at)) all.putNull(target, 0, ordering(i))
      else all.putWord(target, 0, ordering(i), ordered(i).word(source, at))
      i += 1
    }
    space.row
  }

  /** @param prefix the ordered columns alone, in their order */
  override def encodePrefix(prefix: UnsafeRow): Array[Byte] = {
    val bytes = new Array[Byte](LengthBytes + orderedBytes)
    Platform.putInt(bytes, BYTE_ARRAY_OFFSET.toLong, orderedBytes)
    ordered.indices.foreach(i => writeOrdered(prefix, i, prefix.isNullAt(i), bytes, LengthBytes, i))
    bytes
  }
}

/**
 * Keys with a timestamp as their last column, in front of a part with the others or behind it: 8 bytes,
 * big-endian, with the sign inverted. Not thread-safe.
 */
private[rows] final class TimestampKeyCodec(
    schema: StructType,
    isInFront: Boolean,
    bucketKey: BucketKey,
    what: String
) extends ScanKeyCodec(schema, bucketKey, what) {
  import ScanKeyCodec._
  import TimestampKeyCodec._

  private[this] val last = schema.length - 1
  private[this] val others = columns(0 until last)
  private[this] val all = restoring(0 until last)
  private[this] val rest = new UnsafeRow(last)
  private[this] val restShape = shapeOf(0 until last)

  override def scansPrefixes: Boolean = !isInFront
  override def scansRanges: Boolean = true
  override def removesRanges: Boolean = false

  override protected def size(key: UnsafeRow): Int =
    TimestampBytes + VersionBytes + others.size(key)

  override protected def write(key: UnsafeRow, target: Array[Byte], offset: Int): Unit = {
    val end = writePart(others, key, target, if (isInFront) offset + TimestampBytes else offset)
    val bits = java.lang.Long.reverseBytes(key.getLong(last) ^ Long.MinValue)
    Platform.putLong(target, BYTE_ARRAY_OFFSET.toLong + (if (isInFront) offset else end), bits)
  }

  override protected def read(
      source: Array[Byte],
      from: Int,
      end: Int,
      space: RowSpace
  ): UnsafeRow = {
    val start = if (isInFront) from + TimestampBytes else from
    val stop = if (isInFront) end else end - TimestampBytes
    pointTo(rest, restShape, source, start, stop)
    val target = restore(all, rest, rest, space)
    val bits = Platform.getLong(source, BYTE_ARRAY_OFFSET.toLong + (if (isInFront) from else stop))
    all.putWord(target, 0, last, java.lang.Long.reverseBytes(bits) ^ Long.MinValue)
    space.row
  }

  override def encodePrefix(prefix: UnsafeRow): Array[Byte] =
    if (isInFront)
      throw new IllegalStateException("This encoder doesn't support key without event time!")
    else part(prefix, new Array[Byte](VersionBytes + prefix.getSizeInBytes), 0)
}

private[rows] object TimestampKeyCodec {
  final val TimestampBytes = 8
}
