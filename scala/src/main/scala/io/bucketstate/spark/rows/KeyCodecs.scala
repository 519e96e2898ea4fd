package io.bucketstate.spark.rows

import java.nio.ByteOrder

import org.apache.spark.sql.execution.streaming.state._
import org.apache.spark.sql.types.StructType

import io.bucketstate.bucket.BucketKey
import io.bucketstate.checkpoint.records.FamilyEncodings

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
