package io.bucketstate.checkpoint.sst

import io.bucketstate.checkpoint.io.ByteSlice

/** Where a block lies; `size` is without its trailer. Both in bytes. */
private[checkpoint] final case class SstHandle(offset: Long, size: Long) {

  /** Puts it into an array, as two varints; returns where they end. */
  def write(target: Array[Byte], at: Int): Int =
    SstHandle.putVarint(target, SstHandle.putVarint(target, at, offset), size)
}

private[checkpoint] object SstHandle {

  /** What one takes at most. */
  val MaxBytes = 20

  /** Length of what follows each block: how it is compressed, and its checksum. */
  val TrailerBytes = 5

  /** An unsigned number in LEB128; returns where it ends. */
  def putVarint(target: Array[Byte], from: Int, n: Long): Int = {
    var at = from
    var rest = n
    while ((rest & ~0x7fL) != 0) {
      target(at) = (rest | 0x80).toByte
      rest >>>= 7
      at += 1
    }
    target(at) = rest.toByte
    at + 1
  }
}

/**
 * Reads the numbers of an SST's blocks one after the other. What was verified may be nonsense all the same:
 * a number that is none, or runs over the end, throws `IndexOutOfBoundsException`. For one thread.
 */
private[checkpoint] final class SstBytes(bytes: ByteSlice) {
  private[this] val array = bytes.array
  private[this] val end = bytes.offset + bytes.length
  private[this] var at = bytes.offset

  /** In `array`, as all positions here. */
  def position: Int = at

  def remaining: Int = end - at

  def moveTo(position: Int): Unit = {
    if (position < bytes.offset || position > end) throw outside
    at = position
  }

  def skip(count: Int): Unit = {
    if (count < 0 || count > remaining) throw outside
    at += count
  }

  /** An unsigned number of at most 64 bits, in LEB128. */
  def varint(): Long = {
    var result = 0L
    var shift = 0
    var last = false
    while (!last) {
      if (at == end || shift > 63) throw outside
      val b = array(at)
      at += 1
      result |= (b & 0x7fL) << shift
      shift += 7
      last = b >= 0
    }
    result
  }

  /** A signed number, zig-zag. */
  def signedVarint(): Long = {
    val n = varint()
    (n >>> 1) ^ -(n & 1)
  }

  /** A length that fits an Int; whether there are so many bytes is for the caller to find out. */
  def length(): Int =
    if (at < end && array(at) >= 0) {
      at += 1
      array(at - 1).toInt
    } else longLength()

  def handle(): SstHandle = SstHandle(varint(), varint())

  def rest: ByteSlice = new ByteSlice(array, at, remaining)

  private def longLength(): Int = {
    val n = varint()
    if (n < 0 || n > Int.MaxValue) throw outside
    n.toInt
  }

  private def outside =
    new IndexOutOfBoundsException(s"at byte $at of ${bytes.length} from ${bytes.offset}")
}
