package io.bucketstate.checkpoint.sst

import io.bucketstate.checkpoint.io.ByteSlice
import io.bucketstate.checkpoint.run.RunFormat

/**
 * A block of places: of data blocks, if it is a part of an index, or of such parts. The key of each is not less than the
 * last at its place, and less than the first at the next one's. Where the key is not whole, the value tells only how
 * much larger the block is than the one before it, behind which it lies. For one thread.
 */
private[checkpoint] final class SstPlaces(block: ByteSlice) extends SstEntries(block) {
  private[this] var placeNow: SstHandle = _

  def place: SstHandle = placeNow

  /** To the first place that may have this key or one behind it. */
  def goTo(key: Array[Byte]): Boolean = seek(key, trailer = 0)

  /** Whether behind this place there may be keys whose first 4 bytes are not behind these. */
  def prefixIsUpTo(last: Int): Boolean = {
    var prefix = 0
    var i = 0
    while (i < RunFormat.PrefixLength) {
      prefix = (prefix << 8) | (if (i < keyLength) key(i) & 0xff else 0)
      i += 1
    }
    Integer.compareUnsigned(prefix, last) <= 0
  }

  protected def readValueLength(): Unit = ()

  protected def readValue(sharesKey: Boolean): Unit =
    placeNow =
      if (!sharesKey) source.handle()
      else {
        val before = placeNow
        SstHandle(
          before.offset + before.size + SstHandle.TrailerBytes,
          before.size + source.signedVarint()
        )
      }
}
