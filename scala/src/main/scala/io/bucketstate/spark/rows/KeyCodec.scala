package io.bucketstate.spark.rows

import java.util.{Arrays => JArrays}

import scala.util.control.NonFatal

import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.execution.streaming.state.RocksDBKeyStateEncoder
import org.apache.spark.sql.types.StructType

import io.bucketstate.record.{BucketKey, Record, RecordBuffer}

/**
 * Keys of one column family as bytes and back. Not thread-safe: one per store, because Spark's encoders
 * reuse rows.
 */
private[bucketstate] trait KeyCodec {

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
private[bucketstate] final class CompactKeyCodec(schema: StructType, what: String)
    extends KeyCodec {
  private[this] val rows = new CompactRowCodec(schema, what)

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
private[bucketstate] final class SparkKeyCodec(
    encoder: RocksDBKeyStateEncoder,
    bucketKey: BucketKey,
    layout: KeyLayout,
    what: String
) extends KeyCodec {
  private[this] val shape = new KeyShape(layout)

  override def numFields: Int = layout.schema.length

  override def encode(key: UnsafeRow, buffer: RecordBuffer): Unit = {
    val bytes = encoder.encodeKey(key)
    val space = buffer.keySpace(bytes.length)
    System.arraycopy(bytes, 0, space, RecordBuffer.KeyOffset, bytes.length)
    buffer.keyDone(RecordBuffer.KeyOffset + bytes.length, bucketKey)
  }

  /** A copy, because the encoder writes the rows of all who ask it into the same bytes. */
  override def decode(record: Array[Byte], space: RowSpace): UnsafeRow = {
    val key = JArrays.copyOfRange(record, Record.keyStart(record), Record.keyEnd(record))
    // Spark's encoders follow what lengths and offsets in it say.
    if (!shape.fits(key)) throw RowShape.mismatch(what, layout.schema)
    val row =
      try encoder.decodeKey(key)
      // Such as a decimal of more digits than its type has, which Spark looks at when it copies one.
      catch { case NonFatal(e) => throw RowShape.mismatch(what, layout.schema, e) }
    space.hold(row)
  }

  override def encodeKey(key: UnsafeRow): Array[Byte] = encoder.encodeKey(key)

  override def encodePrefix(prefix: UnsafeRow): Array[Byte] = encoder.encodePrefixKey(prefix)

  override def scansPrefixes: Boolean = encoder.supportPrefixKeyScan

  override def scansRanges: Boolean = SparkEncoders.scansRanges(encoder)

  override def removesRanges: Boolean = SparkEncoders.removesRanges(encoder)
}
