package io.bucketstate.checkpoint.sst

import io.bucketstate.checkpoint.io.ByteSlice
import io.bucketstate.checkpoint.run.{LookUpTrace, RunFormat}

/** Which data block may have a key. Thread-safe. */
private[checkpoint] trait KeyIndex extends LookUpPart {

  /** None if the key is behind all that the file has. */
  def find(key: Array[Byte], trace: LookUpTrace): Option[SstHandle]

  /** The blocks from the first that may have this key or one behind it. */
  def from(key: Array[Byte], trace: LookUpTrace): IndexWalk
}

/** Goes from data block to data block. For one thread. */
private[checkpoint] trait IndexWalk {

  /** Whether it stands on a block. */
  def isValid: Boolean

  /** Where that lies. */
  def place: SstHandle

  /** Whether behind this block there may be keys whose first 4 bytes are not behind these. */
  def prefixIsUpTo(last: Int): Boolean

  /** To the next block, if there is one. */
  def advance(): Boolean
}

/**
 * Which data block may have a key: for each block a key that is not less than its last, and less than the
 * next one's first. Values are places; where the key is not whole, only how much larger the block is than
 * the one before it, behind which it lies. Thread-safe.
 */
private[checkpoint] final class SstIndex(private[checkpoint] val block: ByteSlice)
    extends KeyIndex {
  import SstIndex._

  override def heapBytes: Long = block.array.length.toLong

  override def find(key: Array[Byte], trace: LookUpTrace): Option[SstHandle] = {
    val entries = new Entries(block)
    if (entries.goTo(key)) Some(entries.place) else None
  }

  override def from(key: Array[Byte], trace: LookUpTrace): IndexWalk = {
    val entries = new Entries(block)
    entries.goTo(key)
    entries
  }
}

private[checkpoint] object SstIndex {

  final class Entries(block: ByteSlice) extends SstEntries(block) with IndexWalk {
    private[this] var placeNow: SstHandle = _
    private[this] var valid = false

    def isValid: Boolean = valid

    def place: SstHandle = placeNow

    /** To the first block that may have this key or one behind it. */
    def goTo(key: Array[Byte]): Boolean = {
      valid = seek(key, trailer = 0)
      valid
    }

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
}
