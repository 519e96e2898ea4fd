package io.bucketstate.bench
package operations

import java.util.SplittableRandom

import org.apache.spark.sql.catalyst.expressions.{GenericInternalRow, UnsafeProjection, UnsafeRow}
import org.apache.spark.sql.execution.streaming.state.NoPrefixKeyStateEncoderSpec
import org.apache.spark.sql.types.{IntegerType, StructType, TimestampType}

/** Rows in the schemas of Spark's `StateStoreBasicOperationsBenchmark`: keys (int, timestamp), values int. */
final class SmallRows(seed: Long) {
  import SmallRows._

  private val random = new SplittableRandom(seed)
  private val toKey = UnsafeProjection.create(keySchema)
  private val toValue = UnsafeProjection.create(valueSchema)

  /** New random keys, whose timestamps are 0, 1, 2, ... ms. */
  def keys(count: Int): IndexedSeq[UnsafeRow] = (0 until count).map { i =>
    row(toKey, random.nextInt(Int.MaxValue), i * 1000L)
  }

  def value(): UnsafeRow = row(toValue, random.nextInt(Int.MaxValue))

  /** So many percent of one, the rest of the other, shuffled. */
  def mix(
      percent: Int,
      wanted: IndexedSeq[UnsafeRow],
      rest: IndexedSeq[UnsafeRow]
  ): IndexedSeq[UnsafeRow] = {
    val n = wanted.size * percent / 100
    shuffled(shuffled(wanted).take(n) ++ rest.take(wanted.size - n))
  }

  private def shuffled(rows: IndexedSeq[UnsafeRow]): IndexedSeq[UnsafeRow] =
    rows.map(row => random.nextLong() -> row).sortBy(_._1).map(_._2)

  private def row(projection: UnsafeProjection, fields: Any*): UnsafeRow =
    projection(new GenericInternalRow(fields.toArray[Any])).copy()
}

object SmallRows {
  val keySchema: StructType = new StructType().add("key1", IntegerType).add("key2", TimestampType)
  val valueSchema: StructType = new StructType().add("value", IntegerType)

  def schema(multiValued: Boolean): StoreSchema =
    StoreSchema(keySchema, valueSchema, NoPrefixKeyStateEncoderSpec(keySchema), multiValued)
}
