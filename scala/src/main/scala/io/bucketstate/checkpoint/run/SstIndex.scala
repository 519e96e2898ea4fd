package io.bucketstate.checkpoint.run

import io.bucketstate.checkpoint.io.ByteSlice

/**
 * Which data block may have a key: for each block a key that is not less than its last, and less than the
 * next one's first. Values are places; where the key is not whole, only how much larger the block is than
 * the one before it, behind which it lies. Thread-safe.
 */
private[run] final class SstIndex(block: ByteSlice) {
  import SstIndex._

  /** Room it takes. */
  def heapBytes: Long = block.array.length.toLong

  /** None if the key is behind all that the file has. */
  def find(key: Array[Byte]): Option[SstHandle] = {
    val entries = new Entries(block)
    if (entries.goTo(key)) Some(entries.place) else None
  }

  /** The blocks from the first that may have this key or one behind it; for one thread. */
  def from(key: Array[Byte]): Entries = {
    val entries = new Entries(block)
    entries.goTo(key)
    entries
  }
}

private[run] object SstIndex {

  final class Entries(block: ByteSlice) extends SstEntries(block) {
    private[this] var placeNow: SstHandle = _
    private[this] var valid = false

    /** Whether it stands on a block. */
    def isValid: Boolean = valid

    /** Where that lies. */
    def place: SstHandle = placeNow

    /** To the first block that may have this key or one behind it. */
    def goTo(key: Array[Byte]): Boolean = {
      valid = seek(key, trailer = 0)
      valid
    }

    /** Whether behind this block there may be keys whose first 4 bytes are not behind these. */
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
            before.offset + before.size + SstBlocks.TrailerBytes,
            before.size + source.signedVarint()
          )
        }
  }
}
