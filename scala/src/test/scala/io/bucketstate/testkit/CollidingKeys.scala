package io.bucketstate.testkit

import java.lang.Long.{rotateLeft, rotateRight}
import java.nio.{ByteBuffer, ByteOrder}

/** Keys with a hash that is asked for: the last 8 bytes of an input decide what XXH64 makes of the others. */
object CollidingKeys {
  private final val P1 = 0x9e3779b185ebca87L
  private final val P2 = 0xc2b2ae3d27d4eb4fL
  private final val P3 = 0x165667b19e3779f9L
  private final val P4 = 0x85ebca77c2b2ae63L
  private final val P5 = 0x27d4eb2f165667c5L

  /** `start` and 8 bytes more, such that XXH64 with seed 0 is this. A start has 0, 8 or 16 bytes. */
  def withHash(start: Array[Byte], hash: Long): Array[Byte] = {
    require(start.length % 8 == 0 && start.length <= 16)
    val words = ByteBuffer.wrap(start).order(ByteOrder.LITTLE_ENDIAN).asLongBuffer
    var before = P5 + start.length + 8
    while (words.hasRemaining) before = rotateLeft(before ^ round(words.get()), 27) * P1 + P4
    val after = rotateRight((unmixed(hash) - P4) * inverse(P1), 27)
    val last = rotateRight((before ^ after) * inverse(P1), 31) * inverse(P2)
    val key = ByteBuffer.allocate(start.length + 8).order(ByteOrder.LITTLE_ENDIAN)
    key.put(start).putLong(last).array
  }

  /** Texts of ASCII characters, as many as are wanted, whose hashes agree in the lower half. */
  def texts(start: String, lowerHalf: Int): Iterator[String] =
    Iterator
      .iterate(0L)(_ + 1)
      .map(upper => withHash(start.getBytes, (upper << 32) | (lowerHalf & 0xffffffffL)))
      .filter(_.forall(_ >= 0))
      .map(new String(_))

  private def round(word: Long): Long = rotateLeft(word * P2, 31) * P1

  /** What the last steps make of a number, undone. */
  private def unmixed(hash: Long): Long = {
    val second = (hash ^ (hash >>> 32)) * inverse(P3)
    val first = (second ^ (second >>> 29) ^ (second >>> 58)) * inverse(P2)
    first ^ (first >>> 33)
  }

  /** Modulo 2 to the power of 64, of an odd number: each step doubles the bits that are right. */
  private def inverse(odd: Long): Long = (1 to 6).foldLeft(odd)((x, _) => x * (2 - odd * x))
}
