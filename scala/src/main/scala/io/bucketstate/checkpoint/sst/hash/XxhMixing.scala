package io.bucketstate.checkpoint.sst.hash

import java.nio.ByteOrder
import java.util.HexFormat

import org.apache.spark.unsafe.Platform

/**
 * What XXH3 and its preview are both made of (Yann Collet's xxHash). Pure; whoever calls sees to it that the
 * bytes are there.
 *
 * Multiplications of 64 bits by 64 bits, folded to 64, carry what a short input has to all bits of the
 * result; longer ones go through eight lanes instead.
 */
private[checkpoint] object XxhMixing {
  val Prime32a = 0x9e3779b1L
  val Prime32b = 0x85ebca77L
  val Prime32c = 0xc2b2ae3dL
  val Prime64a = 0x9e3779b185ebca87L
  val Prime64b = 0xc2b2ae3d27d4eb4fL
  val Prime64c = 0x165667b19e3779f9L
  val Prime64d = 0x85ebca77c2b2ae63L
  val Prime64e = 0x27d4eb2f165667c5L

  val StripeBytes = 64
  val StripesOfBlock = 16
  val BlockBytes: Int = StripeBytes * StripesOfBlock

  /** xxHash's default secret: bytes without a meaning, which input is mixed with. */
  val Secret: Array[Byte] = HexFormat.of.parseHex(
    "b8fe6c3923a44bbe7c01812cf721ad1cded46de9839097db7240a4a4b7b3671f" +
      "cb79e64eccc0e578825ad07dccff7221b8084674f743248ee03590e6813a264c" +
      "3c2852bb91c300cb88d0658b1b532ea371644897a20df94e3819ef46a9deacd8" +
      "a8fa763fe39c343ff9dcbbc7c70b4f1d8a51e04bcdb45931c89f7ec9d9787364" +
      "eac5ac8334d3ebc3c581a0fffa1363eb170ddd51b7f0da49d316552629d4689e" +
      "2b16be587d47a1fc8ff8b8d17ad031ce45cb3a8f95160428afd7fbcabb4b407e"
  )

  /** Where in the secret the last stripe's part lies. */
  val LastStripe: Int = Secret.length - StripeBytes - 7

  private val LittleEndian = ByteOrder.nativeOrder == ByteOrder.LITTLE_ENDIAN

  def newLanes(): Array[Long] =
    Array(Prime32c, Prime64a, Prime64b, Prime64c, Prime64d, Prime32b, Prime64e, Prime32a)

  /** What 17 to 128 bytes come to, before the last mixing. */
  def upTo128(bytes: Array[Byte], from: Int, length: Int): Long = {
    var sum = length * Prime64a
    val until = from + length
    if (length > 32) {
      if (length > 64) {
        if (length > 96) {
          sum += mix16(bytes, from + 48, 96)
          sum += mix16(bytes, until - 64, 112)
        }
        sum += mix16(bytes, from + 32, 64)
        sum += mix16(bytes, until - 48, 80)
      }
      sum += mix16(bytes, from + 16, 32)
      sum += mix16(bytes, until - 32, 48)
    }
    sum += mix16(bytes, from, 0)
    sum + mix16(bytes, until - 16, 16)
  }

  /** What 129 to 240 bytes come to, before the last mixing. */
  def upTo240(bytes: Array[Byte], from: Int, length: Int, multiplier: Long): Long = {
    var sum = length * Prime64a
    var i = 0
    while (i < 8) {
      sum += mix16(bytes, from + 16 * i, 16 * i)
      i += 1
    }
    sum = avalanche(sum, multiplier)
    while (i < length / 16) {
      sum += mix16(bytes, from + 16 * i, 16 * (i - 8) + 3)
      i += 1
    }
    sum + mix16(bytes, from + length - 16, 119)
  }

  /** @param swap 1 if what is added to a lane is its neighbour's input, else 0 */
  def stripes(lanes: Array[Long], bytes: Array[Byte], from: Int, count: Int, swap: Int): Unit = {
    var n = 0
    while (n < count) {
      stripe(lanes, bytes, from + n * StripeBytes, 8 * n, swap)
      n += 1
    }
  }

  def stripe(lanes: Array[Long], bytes: Array[Byte], from: Int, secret: Int, swap: Int): Unit = {
    var i = 0
    while (i < 8) {
      val data = long(bytes, from + 8 * i)
      val keyed = data ^ long(Secret, secret + 8 * i)
      lanes(i ^ swap) += data
      lanes(i) += (keyed & 0xffffffffL) * (keyed >>> 32)
      i += 1
    }
  }

  def scramble(lanes: Array[Long]): Unit = {
    var i = 0
    while (i < 8) {
      val lane = lanes(i)
      lanes(i) =
        (lane ^ (lane >>> 47) ^ long(Secret, Secret.length - StripeBytes + 8 * i)) * Prime32a
      i += 1
    }
  }

  /** What lanes come to, before the last mixing. */
  def merged(lanes: Array[Long], length: Int): Long = {
    var sum = length * Prime64a
    var i = 0
    while (i < 4) {
      sum += fold(
        lanes(2 * i) ^ long(Secret, 11 + 16 * i),
        lanes(2 * i + 1) ^ long(Secret, 11 + 16 * i + 8)
      )
      i += 1
    }
    sum
  }

  private def mix16(bytes: Array[Byte], at: Int, secret: Int): Long =
    fold(long(bytes, at) ^ long(Secret, secret), long(bytes, at + 8) ^ long(Secret, secret + 8))

  /** Both halves of the unsigned product of 128 bits, as one. */
  def fold(a: Long, b: Long): Long = {
    val high = Math.multiplyHigh(a, b) + ((a >> 63) & b) + ((b >> 63) & a)
    (a * b) ^ high
  }

  def avalanche(n: Long, multiplier: Long): Long = {
    val mixed = (n ^ (n >>> 37)) * multiplier
    mixed ^ (mixed >>> 32)
  }

  /** Throws `IndexOutOfBoundsException` unless there are so many, and at least `least`: nothing below looks. */
  def require(bytes: Array[Byte], from: Int, length: Int, least: Int): Unit =
    if (from < 0 || length < least || length > bytes.length - from)
      throw new IndexOutOfBoundsException(s"$length bytes from $from of ${bytes.length}")

  def long(bytes: Array[Byte], at: Int): Long = {
    val n = Platform.getLong(bytes, Platform.BYTE_ARRAY_OFFSET.toLong + at)
    if (LittleEndian) n else java.lang.Long.reverseBytes(n)
  }

  /** Unsigned. */
  def int(bytes: Array[Byte], at: Int): Long = {
    val n = Platform.getInt(bytes, Platform.BYTE_ARRAY_OFFSET.toLong + at)
    Integer.toUnsignedLong(if (LittleEndian) n else Integer.reverseBytes(n))
  }
}
