package io.bucketstate.move.job

import org.apache.spark.sql.catalyst.expressions.{UnsafeRow, XXH64}
import org.apache.spark.unsafe.Platform

/**
 * What a set of rows adds up to, whatever their order and wherever they lie: two sets have the same sum when they are the
 * same, and otherwise only by a chance of 1 in 2^64. Immutable.
 *
 * @param keys   keys of all families
 * @param values their values
 * @param sum    of a hash of each family's name, key, value and the value's place among those of its key, modulo 2^64
 */
private[move] final case class RowSum(keys: Long, values: Long, sum: Long) {
  def +(other: RowSum): RowSum =
    RowSum(keys + other.keys, values + other.values, sum + other.sum)

  /** Without rows that are among them. */
  def -(other: RowSum): RowSum =
    RowSum(keys - other.keys, values - other.values, sum - other.sum)
}

private[move] object RowSum {
  val Empty: RowSum = RowSum(0L, 0L, 0L)

  /** Adds rows up. Not thread-safe. */
  final class Adding {
    private[this] var keys = 0L
    private[this] var values = 0L
    private[this] var sum = 0L
    private[this] var key = 0L
    private[this] var place = 0

    /** The values of another key follow. */
    def key(family: Long, row: UnsafeRow): Unit = {
      keys += 1
      key = hash(row, family)
      place = 0
      // So that a key without values counts, too.
      sum += key
    }

    def value(row: UnsafeRow): Unit = {
      values += 1
      place += 1
      sum += hash(row, key + place)
    }

    /** A record whose bytes are not looked into. */
    def record(family: Long, bytes: Array[Byte]): Unit = {
      keys += 1
      values += 1
      sum += XXH64.hashUnsafeBytes(bytes, Platform.BYTE_ARRAY_OFFSET.toLong, bytes.length, family)
    }

    def result: RowSum = RowSum(keys, values, sum)
  }

  /** What the rows of a family are hashed with. */
  def family(name: String): Long = {
    val bytes = name.getBytes(java.nio.charset.StandardCharsets.UTF_8)
    XXH64.hashUnsafeBytes(bytes, Platform.BYTE_ARRAY_OFFSET.toLong, bytes.length, 0L)
  }

  private def hash(row: UnsafeRow, seed: Long): Long =
    XXH64.hashUnsafeBytes(row.getBaseObject, row.getBaseOffset, row.getSizeInBytes, seed)
}
