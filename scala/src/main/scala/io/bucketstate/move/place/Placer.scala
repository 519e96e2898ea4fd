package io.bucketstate.move.place

import org.apache.spark.sql.catalyst.expressions.{Expression, UnsafeProjection, UnsafeRow}
import org.apache.spark.sql.catalyst.plans.physical.HashPartitioning
import org.apache.spark.sql.types.StructType

/** Keys of one family to partitions, as Spark's hash partitioning puts the rows that lead to them. Not thread-safe. */
private[bucketstate] final class Placer(deciding: Deciding, key: StructType, partitions: Int) {
  private[this] val project = {
    val fields: Seq[Expression] = deciding.fields(key).map(_._2)
    if (fields.isEmpty || partitions == 1) null
    else UnsafeProjection.create(Seq(HashPartitioning(fields, partitions).partitionIdExpression))
  }

  def apply(row: UnsafeRow): Int = if (project == null) 0 else project(row).getInt(0)
}
