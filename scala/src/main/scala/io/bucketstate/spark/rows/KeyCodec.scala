package io.bucketstate.spark.rows

import java.nio.ByteOrder
import java.util.{Arrays => JArrays}

import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.execution.streaming.state._
import org.apache.spark.sql.types.StructType

import io.bucketstate.bucket.BucketKey
import io.bucketstate.checkpoint.records.FamilyEncodings
import io.bucketstate.table.{Record, RecordBuffer}

/**
 * Keys of one column family as bytes and back. Not thread-safe: one per store, because Spark's encoders
 * reuse rows.
 */
private[spark] trait KeyCodec {

  /** Puts the encoded key into `buffer`, ready to be looked up or written. */
  def encode(key: UnsafeRow, buffer: RecordBuffer): Unit

  /** The key of a record, in `space`. */
  def decode(record: Array[Byte], space: RowSpace): UnsafeRow

  /** Fields of a key. */
  def numFields: Int

  /** The key's bytes alone: the bound of a range. */
  def encodeKey(key: UnsafeRow): Array[Byte]

  /** The bytes every key with that prefix starts with; only where `scansPrefixes`. */
  def encodePrefix(prefix: UnsafeRow): Array[Byte]

  def scansPrefixes: Boolean

  def scansRanges: Boolean

  def removesRanges: Boolean
}

/** Keys that are only ever looked up whole. */
private[spark] final class CompactKeyCodec(schema: StructType) extends KeyCodec {
  private[this] val rows = new CompactRowCodec(schema)

  override def numFields: Int = schema.length

  override def encode(key: UnsafeRow, buffer: RecordBuffer): Unit = {
    val space = buffer.keySpace(rows.maxSize(key))
    buffer.keyDone(rows.encode(key, space, RecordBuffer.KeyOffset), BucketKey.Whole)
  }

  override def decode(record: Array[Byte], space: RowSpace): UnsafeRow =
    rows.decode(record, Record.keyStart(record), Record.keyEnd(record), space)

  override def encodeKey(key: UnsafeRow): Array[Byte] = {
    val space = new Array[Byte](rows.maxSize(key))
    JArrays.copyOf(space, rows.encode(key, space, 0))
  }

  override def encodePrefix(prefix: UnsafeRow): Array[Byte] =
    throw new IllegalArgumentException("Prefix scan requires setting prefix key!")

  override def scansPrefixes: Boolean = false

  override def scansRanges: Boolean = false

  override def removesRanges: Boolean = false
}

/** Keys that are scanned by a part of them, encoded by Spark's own encoders: those that [[ScanKeyCodec]] cannot. */
private[spark] final class SparkKeyCodec(
    encoder: RocksDBKeyStateEncoder,
    bucketKey: BucketKey,
    override val numFields: Int
) extends KeyCodec {

  override def encode(key: UnsafeRow, buffer: RecordBuffer): Unit = {
    val bytes = encoder.encodeKey(key)
    val space = buffer.keySpace(bytes.length)
    System.arraycopy(bytes, 0, space, RecordBuffer.KeyOffset, bytes.length)
    buffer.keyDone(RecordBuffer.KeyOffset + bytes.length, bucketKey)
  }

  /** A copy, because the encoder writes the rows of all who ask it into the same bytes. */
  override def decode(record: Array[Byte], space: RowSpace): UnsafeRow = {
    val key = JArrays.copyOfRange(record, Record.keyStart(record), Record.keyEnd(record))
    space.hold(encoder.decodeKey(key))
  }

  override def encodeKey(key: UnsafeRow): Array[Byte] = encoder.encodeKey(key)

  override def encodePrefix(prefix: UnsafeRow): Array[Byte] = encoder.encodePrefixKey(prefix)

  override def scansPrefixes: Boolean = encoder.supportPrefixKeyScan

  override def scansRanges: Boolean = encoder.supportsRangeScan

  override def removesRanges: Boolean = encoder.supportsDeleteRange
}

/** Which codec Spark's encoder specifications lead to, and what files call it. */
private[spark] object KeyCodecs {

  def forSpec(
      spec: KeyStateEncoderSpec,
      valueSchema: StructType,
      bucketKey: BucketKey
  ): KeyCodec = spec match {
    case NoPrefixKeyStateEncoderSpec(schema)           => new CompactKeyCodec(schema)
    case other if !isCopied(other)                     => ofSpark(other, valueSchema, bucketKey)
    case PrefixKeyScanStateEncoderSpec(schema, n)      => new PrefixKeyCodec(schema, n, bucketKey)
    case RangeKeyScanStateEncoderSpec(schema, columns) =>
      new RangeKeyCodec(schema, columns.toArray, bucketKey)
    case TimestampAsPrefixKeyStateEncoderSpec(schema) =>
      new TimestampKeyCodec(schema, isInFront = true, bucketKey)
    case TimestampAsPostfixKeyStateEncoderSpec(schema) =>
      new TimestampKeyCodec(schema, isInFront = false, bucketKey)
  }

  /** The same with Spark's encoder, for keys that are scanned by a part of them. */
  def ofSpark(
      spec: KeyStateEncoderSpec,
      valueSchema: StructType,
      bucketKey: BucketKey
  ): KeyCodec = {
    val rows = new UnsafeRowDataEncoder(spec, valueSchema)
    val encoder = spec.toEncoder(rows, useColumnFamilies = false)
    new SparkKeyCodec(encoder, bucketKey, spec.keySchema.length)
  }

  /** Whether the columns are of the types that are copied here; Spark's encoder says which it cannot order. */
  private def isCopied(spec: KeyStateEncoderSpec): Boolean =
    ByteOrder.nativeOrder() == ByteOrder.LITTLE_ENDIAN &&
      spec.keySchema.forall(field => ColumnCopy.supports(field.dataType)) && (spec match {
        case RangeKeyScanStateEncoderSpec(schema, columns) =>
          columns.distinct.size == columns.size &&
          columns.forall(i => OrderedColumn.supports(schema(i).dataType))
        case _ => true
      })

  /** As recorded in the files; a family that comes back with another one cannot be read. */
  def name(spec: KeyStateEncoderSpec): String = spec match {
    case _: NoPrefixKeyStateEncoderSpec           => FamilyEncodings.CompactRow
    case PrefixKeyScanStateEncoderSpec(_, n)      => FamilyEncodings.prefixScan(n)
    case RangeKeyScanStateEncoderSpec(_, columns) => FamilyEncodings.rangeScan(columns)
    case _: TimestampAsPrefixKeyStateEncoderSpec  => FamilyEncodings.TimestampPrefix
    case _: TimestampAsPostfixKeyStateEncoderSpec => FamilyEncodings.TimestampPostfix
  }
}
