package io.bucketstate.move.job

import org.apache.spark.util.AccumulatorV2

/**
 * What was read of a partition.
 *
 * @param kept      goes on
 * @param deleted   does not
 * @param misplaced keys that do not lie in the partition of their hash
 */
private[move] final case class PartitionSum(
    partition: Int,
    kept: RowSum,
    deleted: RowSum,
    misplaced: Long
)

/**
 * Sums by partition. A task that runs twice says the same twice, and counts once: unlike a number that tasks add to, this is
 * right whatever was tried again.
 */
private[move] final class PartitionSums
    extends AccumulatorV2[PartitionSum, Map[Int, PartitionSum]] {
  private[this] var sums = Map.empty[Int, PartitionSum]

  override def isZero: Boolean = sums.isEmpty

  override def copy(): PartitionSums = {
    val other = new PartitionSums
    other.takeAll(sums)
    other
  }

  override def reset(): Unit = sums = Map.empty

  override def add(sum: PartitionSum): Unit = sums += sum.partition -> sum

  override def merge(other: AccumulatorV2[PartitionSum, Map[Int, PartitionSum]]): Unit =
    takeAll(other.value)

  override def value: Map[Int, PartitionSum] = sums

  /** What goes on, of all partitions. */
  def total: RowSum = sums.values.map(_.kept).foldLeft(RowSum.Empty)(_ + _)

  private def takeAll(all: Map[Int, PartitionSum]): Unit = sums ++= all
}
