package io.bucketstate.bench
package operations

import java.util.SplittableRandom

import org.apache.spark.sql.catalyst.expressions.{GenericInternalRow, UnsafeProjection, UnsafeRow}
import org.apache.spark.sql.types.StructType
import org.apache.spark.unsafe.types.UTF8String

/** Rows for single operations, in the schemas of [[Workload]], made before the clock runs. */
final class OperationRows(keys: Int, seed: Long) {
  import OperationRows._

  private val toKey = UnsafeProjection.create(Workload.keySchema)
  private val toPrefix = UnsafeProjection.create(StructType(Workload.keySchema.take(1)))
  private val toValue = UnsafeProjection.create(Workload.valueSchema)
  private val random = new SplittableRandom(seed)

  val payload: Array[Byte] = Array.fill(100)(random.nextInt().toByte)

  /** Groups of [[PerGroup]] keys have the same first column: what is scanned by. */
  def key(i: Int): UnsafeRow = row(toKey, (i / PerGroup).toLong, UTF8String.fromString(s"key-$i"))

  /** Below every key of the group, and above those of the groups before. */
  def bound(group: Int): UnsafeRow = row(toKey, group.toLong, UTF8String.EMPTY_UTF8)

  def prefix(group: Int): UnsafeRow = row(toPrefix, group.toLong)

  /** The first column is what eviction looks at. */
  def value(i: Int): UnsafeRow = row(toValue, i.toLong, payload)

  def groups: Int = keys / PerGroup

  /** So many numbers below `limit`, the same ones for every provider. */
  def sample(count: Int, limit: Int): Array[Int] = {
    val random = new SplittableRandom(seed + limit)
    Array.fill(count)(random.nextInt(limit))
  }

  private def row(projection: UnsafeProjection, fields: Any*): UnsafeRow =
    projection(new GenericInternalRow(fields.toArray[Any])).copy()
}

object OperationRows {
  val PerGroup = 10
}
