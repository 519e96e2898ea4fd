package io.bucketstate.checkpoint.sst.hash

/**
 * The hash that RocksDB's filters are made of: a preview of XXH3, seed 0, which is not what XXH3 came to be
 * (RocksDB's `util/xxph3.h`, after xxHash 0.7.2). Pure.
 */
private[checkpoint] object Xxph3 {
  import XxhMixing._

  /** The hash of the first `length` bytes; at least 4, as every key of a run has. */
  def hash(bytes: Array[Byte], length: Int): Long = {
    require(bytes, 0, length, least = 4)
    if (length <= 8) {
      val keyed = (int(bytes, 0) | (int(bytes, length - 4) << 32)) ^ long(Secret, 0)
      val mixed = length + (keyed ^ (keyed >>> 51)) * Prime32a
      avalanche((mixed ^ (mixed >>> 47)) * Prime64b, Prime64c)
    } else if (length <= 16) {
      val low = long(bytes, 0) ^ long(Secret, 0)
      val high = long(bytes, length - 8) ^ long(Secret, 8)
      avalanche(length + (low + high) + fold(low, high), Prime64c)
    } else if (length <= 128) avalanche(upTo128(bytes, 0, length), Prime64c)
    else if (length <= 240) avalanche(upTo240(bytes, 0, length, Prime64c), Prime64c)
    else ofMore(bytes, length)
  }

  private def ofMore(bytes: Array[Byte], length: Int): Long = {
    val lanes = newLanes()
    val blocks = length / BlockBytes
    var block = 0
    while (block < blocks) {
      stripes(lanes, bytes, block * BlockBytes, StripesOfBlock, swap = 0)
      scramble(lanes)
      block += 1
    }
    val rest = length - blocks * BlockBytes
    stripes(lanes, bytes, blocks * BlockBytes, rest / StripeBytes, swap = 0)
    if (length % StripeBytes != 0)
      stripe(lanes, bytes, length - StripeBytes, LastStripe, swap = 0)
    avalanche(merged(lanes, length), Prime64c)
  }
}
