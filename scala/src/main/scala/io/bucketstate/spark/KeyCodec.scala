package io.bucketstate.spark

import java.util.{Arrays => JArrays}

import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.execution.streaming.state._
import org.apache.spark.sql.types.StructType

import io.bucketstate.bucket.BucketKey
import io.bucketstate.checkpoint.FamilyEncodings
import io.bucketstate.table.{Record, RecordBuffer}

/**
 * Keys of one column family as bytes and back. Not thread-safe: one per store, because Spark's encoders
 * reuse rows.
 */
private[spark] sealed trait KeyCodec {

  /** Puts the encoded key into `buffer`, ready to be looked up or written. */
  def encode(key: UnsafeRow, buffer: RecordBuffer): Unit

  /** The key of a record. */
  def decode(record: Array[Byte]): UnsafeRow

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
  private[this] val numFields = schema.length

  override def encode(key: UnsafeRow, buffer: RecordBuffer): Unit = {
    val space = buffer.keySpace(rows.maxSize(key))
    buffer.keyDone(rows.encode(key, space, RecordBuffer.KeyOffset), BucketKey.Whole)
  }

  override def decode(record: Array[Byte]): UnsafeRow =
    rows.decode(record, Record.keyStart(record), Record.keyEnd(record), new UnsafeRow(numFields))

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

/** Keys whose byte order matters: encoded by Spark's own encoders, byte for byte. */
private[spark] final class SparkKeyCodec(encoder: RocksDBKeyStateEncoder, bucketKey: BucketKey)
    extends KeyCodec {

  override def encode(key: UnsafeRow, buffer: RecordBuffer): Unit = {
    val bytes = encoder.encodeKey(key)
    val space = buffer.keySpace(bytes.length)
    System.arraycopy(bytes, 0, space, RecordBuffer.KeyOffset, bytes.length)
    buffer.keyDone(RecordBuffer.KeyOffset + bytes.length, bucketKey)
  }

  /** A copy, because the encoder's projections write every row into the same bytes. */
  override def decode(record: Array[Byte]): UnsafeRow = encoder
    .decodeKey(JArrays.copyOfRange(record, Record.keyStart(record), Record.keyEnd(record)))
    .copy()

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
    case NoPrefixKeyStateEncoderSpec(schema) => new CompactKeyCodec(schema)
    case other                               =>
      val rows = new UnsafeRowDataEncoder(other, valueSchema)
      new SparkKeyCodec(other.toEncoder(rows, useColumnFamilies = false), bucketKey)
  }

  /** As recorded in the files; a family that comes back with another one cannot be read. */
  def name(spec: KeyStateEncoderSpec): String = spec match {
    case _: NoPrefixKeyStateEncoderSpec           => FamilyEncodings.CompactRow
    case PrefixKeyScanStateEncoderSpec(_, n)      => FamilyEncodings.prefixScan(n)
    case RangeKeyScanStateEncoderSpec(_, columns) => FamilyEncodings.rangeScan(columns)
    case _: TimestampAsPrefixKeyStateEncoderSpec  => FamilyEncodings.TimestampPrefix
    case _: TimestampAsPostfixKeyStateEncoderSpec => FamilyEncodings.TimestampPostfix
  }
}
