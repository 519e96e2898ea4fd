package io.bucketstate.checkpoint.run

import io.bucketstate.checkpoint.io.ByteSlice

/**
 * Which data block may have a key: for each block a key that is not less than its last, and less than the
 * next one's first. Values are places; where the key is not whole, only how much larger the block is than
 * the one before it, behind which it lies. Thread-safe.
 */
private[run] final class SstIndex(block: ByteSlice) {

  /** Room it takes. */
  def heapBytes: Long = block.array.length.toLong

  /** None if the key is behind all that the file has. */
  def find(key: Array[Byte]): Option[SstHandle] = {
    val entries = new SstIndex.Entries(block)
    if (entries.seek(key, trailer = 0)) Some(entries.place) else None
  }
}

private object SstIndex {

  private final class Entries(block: ByteSlice) extends SstEntries(block) {
    private[this] var placeNow: SstHandle = _

    def place: SstHandle = placeNow

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
