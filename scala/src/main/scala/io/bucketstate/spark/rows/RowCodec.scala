package io.bucketstate.spark.rows

import org.apache.spark.sql.catalyst.expressions.UnsafeRow

/** Values of one column family as bytes and back. Its classes say how they lay out a row. */
private[bucketstate] trait RowCodec {

  /** No encoding of `row` takes more bytes than this. */
  def maxSize(row: UnsafeRow): Int

  /** Writes `row` at `offset`, where `maxSize(row)` bytes are free; returns the offset behind it. */
  def encode(row: UnsafeRow, target: Array[Byte], offset: Int): Int

  /**
   * The row encoded in `source` from `offset` until `end`: `row`, pointed to bytes that nobody writes to, or
   * another one of that kind.
   */
  def decode(source: Array[Byte], offset: Int, end: Int, row: UnsafeRow): UnsafeRow

  /** The row encoded in `source` from `offset` until `end`, good until the next row that is decoded into `space`. */
  def decode(source: Array[Byte], offset: Int, end: Int, space: RowSpace): UnsafeRow
}
