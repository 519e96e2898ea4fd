package io.bucketstate.spark

import java.util.{Arrays => JArrays}

import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.execution.streaming.state._
import org.apache.spark.sql.types.StructType

import io.bucketstate.bucket.BucketKey
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

  /** The bytes every key with that prefix starts with; only where [[KeyCodecs.ordered]]. */
  def encodePrefix(prefix: UnsafeRow): Array[Byte]
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

  override def encodePrefix(prefix: UnsafeRow): Array[Byte] =
    throw new IllegalArgumentException("Prefix scan requires setting prefix key!")
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

  override def decode(record: Array[Byte]): UnsafeRow =
    encoder.decodeKey(JArrays.copyOfRange(record, Record.keyStart(record), Record.keyEnd(record)))

  override def encodePrefix(prefix: UnsafeRow): Array[Byte] = encoder.encodePrefixKey(prefix)
}

/** Which codec and which place in the table Spark's encoder specifications lead to. */
private[spark] object KeyCodecs {

  def forSpec(spec: KeyStateEncoderSpec, valueSchema: StructType): KeyCodec = spec match {
    case NoPrefixKeyStateEncoderSpec(schema) => new CompactKeyCodec(schema)
    case other                               =>
      val rows = new UnsafeRowDataEncoder(other, valueSchema)
      new SparkKeyCodec(other.toEncoder(rows, useColumnFamilies = false), bucketKey(other))
  }

  def bucketKey(spec: KeyStateEncoderSpec): BucketKey = spec match {
    case _: PrefixKeyScanStateEncoderSpec => BucketKey.LengthPrefixed
    case _                                => BucketKey.Whole
  }

  /** Whether keys must be found in byte order. */
  def ordered(spec: KeyStateEncoderSpec): Boolean = !spec.isInstanceOf[NoPrefixKeyStateEncoderSpec]

  /** As recorded in changelogs; a family that comes back with another one cannot be read. */
  def name(spec: KeyStateEncoderSpec): String = spec match {
    case _: NoPrefixKeyStateEncoderSpec           => CompactRowCodec.Name
    case PrefixKeyScanStateEncoderSpec(_, n)      => s"spark-prefix-scan/$n"
    case RangeKeyScanStateEncoderSpec(_, columns) => columns.mkString("spark-range-scan/", ",", "")
    case _: TimestampAsPrefixKeyStateEncoderSpec  => "spark-timestamp-prefix"
    case _: TimestampAsPostfixKeyStateEncoderSpec => "spark-timestamp-postfix"
  }
}
