package io.bucketstate.spark.rows

import org.apache.spark.sql.types.StructType

/** By what part of them keys are scanned: Spark's encoder specifications, of whatever minor version. */
private[rows] sealed trait KeyLayout {
  def schema: StructType
}

private[rows] object KeyLayout {

  /** Only ever looked up whole. */
  final case class Whole(schema: StructType) extends KeyLayout

  /** By the first `columns` columns. */
  final case class Prefix(schema: StructType, columns: Int) extends KeyLayout

  /** In the order of the columns at these places. */
  final case class Ordered(schema: StructType, columns: Seq[Int]) extends KeyLayout

  /** With a time as the last column, whose bytes are in front of the others or behind them. */
  final case class Timed(schema: StructType, isInFront: Boolean) extends KeyLayout
}
