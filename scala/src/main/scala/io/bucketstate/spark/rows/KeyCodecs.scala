package io.bucketstate.spark.rows

import java.nio.ByteOrder

import org.apache.spark.sql.execution.streaming.state._
import org.apache.spark.sql.types.StructType

import io.bucketstate.checkpoint.records.FamilyEncodings
import io.bucketstate.record.BucketKey

/** Which codec Spark's encoder specifications lead to, and what files call it. */
private[bucketstate] object KeyCodecs {

  /** @param family for an error */
  def forSpec(
      family: String,
      spec: KeyStateEncoderSpec,
      valueSchema: StructType,
      bucketKey: BucketKey
  ): KeyCodec = SparkEncoders.layoutOf(spec) match {
    case KeyLayout.Whole(schema)     => new CompactKeyCodec(schema, what(family))
    case other if !isCopied(other)   => ofSpark(family, spec, valueSchema, bucketKey)
    case KeyLayout.Prefix(schema, n) => new PrefixKeyCodec(schema, n, bucketKey, what(family))
    case KeyLayout.Ordered(schema, columns) =>
      new RangeKeyCodec(schema, columns.toArray, bucketKey, what(family))
    case KeyLayout.Timed(schema, isInFront) =>
      new TimestampKeyCodec(schema, isInFront, bucketKey, what(family))
  }

  /** The codec that uses Spark's encoder, for keys that are scanned by a part of them. */
  def ofSpark(
      family: String,
      spec: KeyStateEncoderSpec,
      valueSchema: StructType,
      bucketKey: BucketKey
  ): KeyCodec = {
    val rows = new UnsafeRowDataEncoder(spec, valueSchema)
    val encoder = spec.toEncoder(rows, useColumnFamilies = false)
    new SparkKeyCodec(encoder, bucketKey, SparkEncoders.layoutOf(spec), what(family))
  }

  /** How many first columns of a key are enough to know its bucket by, where not all of them are needed; else 0. */
  def prefixColumns(spec: KeyStateEncoderSpec): Int = SparkEncoders.layoutOf(spec) match {
    case KeyLayout.Prefix(_, n)                    => n
    case KeyLayout.Timed(schema, false)            => schema.length - 1
    case _: KeyLayout.Whole | _: KeyLayout.Ordered => 0
    case KeyLayout.Timed(_, true)                  => 0
  }

  private def what(family: String): String = s"A key of the column family '$family'"

  /** Whether the columns are of the types that are copied here; Spark's encoder says which it cannot order. */
  private def isCopied(layout: KeyLayout): Boolean =
    ByteOrder.nativeOrder() == ByteOrder.LITTLE_ENDIAN &&
      layout.schema.forall(field => ColumnCopy.supports(field.dataType)) && (layout match {
        case KeyLayout.Ordered(schema, columns) =>
          columns.distinct.size == columns.size &&
          columns.forall(i => OrderedColumn.supports(schema(i).dataType))
        case _ => true
      })

  /** The name that files record; a family that comes back with another one cannot be read. */
  def name(spec: KeyStateEncoderSpec): String = SparkEncoders.layoutOf(spec) match {
    case _: KeyLayout.Whole            => FamilyEncodings.CompactRow
    case KeyLayout.Prefix(_, n)        => FamilyEncodings.prefixScan(n)
    case KeyLayout.Ordered(_, columns) => FamilyEncodings.rangeScan(columns)
    case KeyLayout.Timed(_, true)      => FamilyEncodings.TimestampPrefix
    case KeyLayout.Timed(_, false)     => FamilyEncodings.TimestampPostfix
  }
}
