package io.bucketstate.checkpoint.sst.hash

/** XXH3 of 64 bits, seed 0 (xxHash 0.8). Pure. */
private[checkpoint] object Xxh3 {
  import XxhMixing._

  private val Multiplier = 0x165667919e3779f9L

  /** Fewer bytes are not hashed here: no block of a file is so short. */
  val LeastBytes = 9

  /** The hash of `length` bytes, at least 9. */
  def hash(bytes: Array[Byte], from: Int, length: Int): Long = {
    require(bytes, from, length, LeastBytes)
    val sum =
      if (length <= 16) upTo16(bytes, from, length)
      else if (length <= 128) upTo128(bytes, from, length)
      else if (length <= 240) upTo240(bytes, from, length, Multiplier)
      else more(bytes, from, length)
    avalanche(sum, Multiplier)
  }

  private def upTo16(bytes: Array[Byte], from: Int, length: Int): Long = {
    val low = long(bytes, from) ^ long(Secret, 24) ^ long(Secret, 32)
    val high = long(bytes, from + length - 8) ^ long(Secret, 40) ^ long(Secret, 48)
    length + java.lang.Long.reverseBytes(low) + high + fold(low, high)
  }

  private def more(bytes: Array[Byte], from: Int, length: Int): Long = {
    val lanes = newLanes()
    val blocks = (length - 1) / BlockBytes
    var block = 0
    while (block < blocks) {
      stripes(lanes, bytes, from + block * BlockBytes, StripesOfBlock, swap = 1)
      scramble(lanes)
      block += 1
    }
    val rest = length - 1 - blocks * BlockBytes
    stripes(lanes, bytes, from + blocks * BlockBytes, rest / StripeBytes, swap = 1)
    stripe(lanes, bytes, from + length - StripeBytes, LastStripe, swap = 1)
    merged(lanes, length)
  }
}
