package io.bucketstate.record

import java.util.Arrays

/**
 * Keys by their bytes, unsigned and lexicographic. Immutable.
 *
 * @param from  the first that is meant, null for the first of all
 * @param until the first behind them, null for no bound
 */
final class KeyRange(val from: Array[Byte], val until: Array[Byte]) {

  def isEmpty: Boolean =
    from != null && until != null && Arrays.compareUnsigned(from, until) >= 0

  /** Whether the key of a record lies below the upper bound. */
  def isAbove(record: Array[Byte]): Boolean =
    until == null || compare(record, until) < 0

  /** Whether the key of a record is meant. */
  def holds(record: Array[Byte]): Boolean =
    (from == null || compare(record, from) >= 0) && isAbove(record)

  /** What is left of it behind the key of a record. */
  def behind(record: Array[Byte]): KeyRange = {
    val (start, end) = (Record.keyStart(record), Record.keyEnd(record))
    val next = new Array[Byte](end - start + 1) // the key, and a zero
    System.arraycopy(record, start, next, 0, end - start)
    new KeyRange(next, until)
  }

  private def compare(record: Array[Byte], key: Array[Byte]): Int = Arrays.compareUnsigned(
    record,
    Record.keyStart(record),
    Record.keyEnd(record),
    key,
    0,
    key.length
  )
}

object KeyRange {

  /** All that start with `prefix`. */
  def ofPrefix(prefix: Array[Byte]): KeyRange = {
    var length = prefix.length
    while (length > 0 && prefix(length - 1) == -1) length -= 1
    val until = if (length == 0) null else Arrays.copyOf(prefix, length)
    if (until != null) until(length - 1) = (until(length - 1) + 1).toByte
    new KeyRange(prefix, until)
  }
}
