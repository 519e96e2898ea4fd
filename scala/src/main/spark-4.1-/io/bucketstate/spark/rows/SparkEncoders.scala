package io.bucketstate.spark.rows

import org.apache.spark.sql.execution.streaming.state._

/** What Spark's own encoders of keys can do, and what they are made from. */
private[rows] object SparkEncoders {
  def scansRanges(encoder: RocksDBKeyStateEncoder): Boolean =
    encoder.isInstanceOf[RangeKeyScanStateEncoder]

  def removesRanges(encoder: RocksDBKeyStateEncoder): Boolean = scansRanges(encoder)

  def layoutOf(spec: KeyStateEncoderSpec): KeyLayout = spec match {
    case NoPrefixKeyStateEncoderSpec(schema)           => KeyLayout.Whole(schema)
    case PrefixKeyScanStateEncoderSpec(schema, n)      => KeyLayout.Prefix(schema, n)
    case RangeKeyScanStateEncoderSpec(schema, columns) => KeyLayout.Ordered(schema, columns)
  }
}
