package io.bucketstate.move.read

import org.apache.spark.sql.catalyst.expressions.XXH64
import org.apache.spark.unsafe.Platform

/**
 * Remembers of each of many keys where it was seen last, in 24 bytes a slot however long the keys are: they are told apart by
 * 128 bits of two hashes, whose chance to be the same for any two of a billion keys is 1 in 10^20. Not thread-safe.
 */
private[move] final class KeyStamps {
  import KeyStamps._

  private[this] var first = new Array[Long](FirstSize)
  private[this] var second = new Array[Long](FirstSize)
  // A stamp of a place that is not used is 0.
  private[this] var stamps = new Array[Long](FirstSize)
  private[this] var count = 0

  def isEmpty: Boolean = count == 0

  /** What was put for a key, 0 if nothing was. */
  def get(key: Array[Byte]): Long = stamps(slotOf(hash(key, FirstSeed), hash(key, SecondSeed)))

  /** @param stamp not 0 */
  def put(key: Array[Byte], stamp: Long): Unit = {
    val (a, b) = (hash(key, FirstSeed), hash(key, SecondSeed))
    val slot = slotOf(a, b)
    if (stamps(slot) == 0L) {
      count += 1
      first(slot) = a
      second(slot) = b
    }
    stamps(slot) = stamp
    if (count > stamps.length / 4 * 3) grow()
  }

  /** Where the key is, or where it goes. */
  private def slotOf(a: Long, b: Long): Int = {
    val mask = stamps.length - 1
    var slot = a.toInt & mask
    while (stamps(slot) != 0L && !(first(slot) == a && second(slot) == b)) slot = (slot + 1) & mask
    slot
  }

  private def grow(): Unit = {
    val (oldFirst, oldSecond, oldStamps) = (first, second, stamps)
    val size = Math.multiplyExact(oldStamps.length, 2)
    first = new Array[Long](size)
    second = new Array[Long](size)
    stamps = new Array[Long](size)
    var i = 0
    while (i < oldStamps.length) {
      if (oldStamps(i) != 0L) {
        val slot = slotOf(oldFirst(i), oldSecond(i))
        first(slot) = oldFirst(i)
        second(slot) = oldSecond(i)
        stamps(slot) = oldStamps(i)
      }
      i += 1
    }
  }
}

private object KeyStamps {
  private final val FirstSize = 1024
  private final val FirstSeed = 42L
  private final val SecondSeed = 0x9e3779b97f4a7c15L

  private def hash(key: Array[Byte], seed: Long): Long =
    XXH64.hashUnsafeBytes(key, Platform.BYTE_ARRAY_OFFSET.toLong, key.length, seed)
}
