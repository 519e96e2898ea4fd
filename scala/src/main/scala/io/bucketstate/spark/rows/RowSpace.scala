package io.bucketstate.spark.rows

import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.unsafe.Platform.BYTE_ARRAY_OFFSET

/**
 * One row after the other in the same bytes, for scans: a row is good until the next one, as rows are
 * throughout Spark (its own projections write into one buffer, too). Not thread-safe.
 */
private[bucketstate] final class RowSpace(numFields: Int) {
  private[this] var space = new Array[Byte](RowSpace.FirstSize)

  val row: UnsafeRow = new UnsafeRow(numFields)

  /** At least `size` bytes, with whatever the last row left in them. */
  def bytes(size: Int): Array[Byte] = {
    if (size > space.length) space = new Array[Byte](Math.max(size, space.length * 2))
    space
  }

  /** A copy of a row that belongs to somebody else. */
  def hold(other: UnsafeRow): UnsafeRow = {
    val size = other.getSizeInBytes
    val target = bytes(size)
    other.writeToMemory(target, BYTE_ARRAY_OFFSET.toLong)
    row.pointTo(target, size)
    row
  }
}

private object RowSpace {
  private final val FirstSize = 64 // many scans give a few small rows
}
