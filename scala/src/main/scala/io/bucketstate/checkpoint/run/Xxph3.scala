package io.bucketstate.checkpoint.run

import java.nio.ByteOrder
import java.util.HexFormat

import org.apache.spark.unsafe.Platform

/**
 * The hash that RocksDB's filters are made of: a preview of XXH3, seed 0, which is not what XXH3 came to be
 * (RocksDB's `util/xxph3.h`, after Yann Collet's xxHash 0.7.2). Pure.
 *
 * Multiplications of 64 bits by 64 bits, folded to 64, carry what a short key has to all bits of the result;
 * keys of more than 240 bytes go through eight lanes instead.
 */
private[run] object Xxph3 {
  private val Prime32a = 0x9e3779b1L
  private val Prime32b = 0x85ebca77L
  private val Prime32c = 0xc2b2ae3dL
  private val Prime64a = 0x9e3779b185ebca87L
  private val Prime64b = 0xc2b2ae3d27d4eb4fL
  private val Prime64c = 0x165667b19e3779f9L
  private val Prime64d = 0x85ebca77c2b2ae63L
  private val Prime64e = 0x27d4eb2f165667c5L

  private val StripeBytes = 64
  private val StripesOfBlock = 16
  private val BlockBytes = StripeBytes * StripesOfBlock

  /** xxHash's default secret: bytes without a meaning, which input is mixed with. */
  private val Secret: Array[Byte] = HexFormat.of.parseHex(
    "b8fe6c3923a44bbe7c01812cf721ad1cded46de9839097db7240a4a4b7b3671f" +
      "cb79e64eccc0e578825ad07dccff7221b8084674f743248ee03590e6813a264c" +
      "3c2852bb91c300cb88d0658b1b532ea371644897a20df94e3819ef46a9deacd8" +
      "a8fa763fe39c343ff9dcbbc7c70b4f1d8a51e04bcdb45931c89f7ec9d9787364" +
      "eac5ac8334d3ebc3c581a0fffa1363eb170ddd51b7f0da49d316552629d4689e" +
      "2b16be587d47a1fc8ff8b8d17ad031ce45cb3a8f95160428afd7fbcabb4b407e"
  )

  private val LittleEndian = ByteOrder.nativeOrder == ByteOrder.LITTLE_ENDIAN

  /** Of the first `length` bytes; at least 4, as every key of a run has. */
  def hash(bytes: Array[Byte], length: Int): Long = {
    if (length < 4 || length > bytes.length)
      throw new IndexOutOfBoundsException(s"$length bytes of ${bytes.length}")
    if (length <= 8) ofUpTo8(bytes, length)
    else if (length <= 16) ofUpTo16(bytes, length)
    else if (length <= 128) ofUpTo128(bytes, length)
    else if (length <= 240) ofUpTo240(bytes, length)
    else ofMore(bytes, length)
  }

  private def ofUpTo8(bytes: Array[Byte], length: Int): Long = {
    val both = int(bytes, 0) | (int(bytes, length - 4) << 32)
    val keyed = both ^ long(Secret, 0)
    val mixed = length + (keyed ^ (keyed >>> 51)) * Prime32a
    avalanche((mixed ^ (mixed >>> 47)) * Prime64b)
  }

  private def ofUpTo16(bytes: Array[Byte], length: Int): Long = {
    val low = long(bytes, 0) ^ long(Secret, 0)
    val high = long(bytes, length - 8) ^ long(Secret, 8)
    avalanche(length + (low + high) + fold(low, high))
  }

  private def ofUpTo128(bytes: Array[Byte], length: Int): Long = {
    var sum = length * Prime64a
    if (length > 32) {
      if (length > 64) {
        if (length > 96) {
          sum += mix16(bytes, 48, 96)
          sum += mix16(bytes, length - 64, 112)
        }
        sum += mix16(bytes, 32, 64)
        sum += mix16(bytes, length - 48, 80)
      }
      sum += mix16(bytes, 16, 32)
      sum += mix16(bytes, length - 32, 48)
    }
    sum += mix16(bytes, 0, 0)
    sum += mix16(bytes, length - 16, 16)
    avalanche(sum)
  }

  private def ofUpTo240(bytes: Array[Byte], length: Int): Long = {
    var sum = length * Prime64a
    var i = 0
    while (i < 8) {
      sum += mix16(bytes, 16 * i, 16 * i)
      i += 1
    }
    sum = avalanche(sum)
    while (i < length / 16) {
      sum += mix16(bytes, 16 * i, 16 * (i - 8) + 3)
      i += 1
    }
    avalanche(sum + mix16(bytes, length - 16, 119))
  }

  private def ofMore(bytes: Array[Byte], length: Int): Long = {
    val lanes = Array(
      Prime32c,
      Prime64a,
      Prime64b,
      Prime64c,
      Prime64d,
      Prime32b,
      Prime64e,
      Prime32a
    )
    val blocks = length / BlockBytes
    var block = 0
    while (block < blocks) {
      stripes(lanes, bytes, block * BlockBytes, StripesOfBlock)
      scramble(lanes)
      block += 1
    }
    stripes(lanes, bytes, blocks * BlockBytes, (length - blocks * BlockBytes) / StripeBytes)
    if (length % StripeBytes != 0)
      stripe(lanes, bytes, length - StripeBytes, Secret.length - StripeBytes - 7)
    var sum = length * Prime64a
    var i = 0
    while (i < 4) {
      sum += fold(
        lanes(2 * i) ^ long(Secret, 11 + 16 * i),
        lanes(2 * i + 1) ^ long(Secret, 11 + 16 * i + 8)
      )
      i += 1
    }
    avalanche(sum)
  }

  private def stripes(lanes: Array[Long], bytes: Array[Byte], from: Int, count: Int): Unit = {
    var n = 0
    while (n < count) {
      stripe(lanes, bytes, from + n * StripeBytes, 8 * n)
      n += 1
    }
  }

  private def stripe(lanes: Array[Long], bytes: Array[Byte], from: Int, secret: Int): Unit = {
    var i = 0
    while (i < 8) {
      val data = long(bytes, from + 8 * i)
      val keyed = data ^ long(Secret, secret + 8 * i)
      lanes(i) += data + (keyed & 0xffffffffL) * (keyed >>> 32)
      i += 1
    }
  }

  private def scramble(lanes: Array[Long]): Unit = {
    var i = 0
    while (i < 8) {
      val lane = lanes(i)
      lanes(i) =
        (lane ^ (lane >>> 47) ^ long(Secret, Secret.length - StripeBytes + 8 * i)) * Prime32a
      i += 1
    }
  }

  private def mix16(bytes: Array[Byte], at: Int, secret: Int): Long =
    fold(long(bytes, at) ^ long(Secret, secret), long(bytes, at + 8) ^ long(Secret, secret + 8))

  /** Both halves of the unsigned product of 128 bits, as one. */
  private def fold(a: Long, b: Long): Long = {
    val high = Math.multiplyHigh(a, b) + ((a >> 63) & b) + ((b >> 63) & a)
    (a * b) ^ high
  }

  private def avalanche(n: Long): Long = {
    val mixed = (n ^ (n >>> 37)) * Prime64c
    mixed ^ (mixed >>> 32)
  }

  private def long(bytes: Array[Byte], at: Int): Long = {
    val n = Platform.getLong(bytes, Platform.BYTE_ARRAY_OFFSET.toLong + at)
    if (LittleEndian) n else java.lang.Long.reverseBytes(n)
  }

  /** Unsigned. */
  private def int(bytes: Array[Byte], at: Int): Long = {
    val n = Platform.getInt(bytes, Platform.BYTE_ARRAY_OFFSET.toLong + at)
    Integer.toUnsignedLong(if (LittleEndian) n else Integer.reverseBytes(n))
  }
}
