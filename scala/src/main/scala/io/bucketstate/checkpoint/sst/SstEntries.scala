package io.bucketstate.checkpoint.sst

import java.nio.{ByteBuffer, ByteOrder}
import java.util.Arrays

import io.bucketstate.checkpoint.io.ByteSlice

/**
 * The entries of one block, in the order of their keys:
 *
 * {{{
 *   block := entry* | restart u32* | number of restarts u32, little-endian
 *   entry := varint(bytes shared with the key before) | varint(bytes that follow) | ... | bytes | value
 * }}}
 *
 * A restart is where an entry begins that has its key whole, so a search halves the restarts and then goes
 * on entry by entry (LevelDB's `doc/table_format.md`, RocksDB's `table/block_based/block_builder.cc`). What
 * no writer makes throws `IndexOutOfBoundsException`. For one thread.
 */
private[checkpoint] abstract class SstEntries(block: ByteSlice) {
  private[this] val numbers =
    ByteBuffer.wrap(block.array, block.offset, block.length).slice().order(ByteOrder.LITTLE_ENDIAN)
  // A block with a hash index besides has the highest bit set: it is none of ours.
  private[checkpoint] val restarts: Int = numbers.getInt(block.length - 4)
  private[this] val restartsAt = block.length - 4L - 4L * restarts
  if (restarts < 1 || restartsAt < 0) throw new IndexOutOfBoundsException(s"$restarts restarts")

  protected val source: SstBytes = new SstBytes(block.slice(0, restartsAt.toInt))

  private[this] var keyNow = new Array[Byte](64)
  private[this] var length = 0

  /** Reads what stands before the bytes of a key, besides their number. */
  protected def readValueLength(): Unit

  /** Reads, or skips, the value behind the key. */
  protected def readValue(sharesKey: Boolean): Unit

  /** Its first `keyLength` bytes are the key; good until the next call. */
  def key: Array[Byte] = keyNow

  def keyLength: Int = length

  /** Goes to the next entry, if there is one. */
  def advance(): Boolean = source.remaining > 0 && {
    val shared = source.length()
    val own = source.length()
    readValueLength()
    if (shared > length || own > source.remaining)
      throw new IndexOutOfBoundsException(s"a key of $shared and $own bytes")
    if (shared + own > keyNow.length) keyNow = Arrays.copyOf(keyNow, shared + own + 64)
    val at = source.position
    source.skip(own)
    System.arraycopy(block.array, at, keyNow, shared, own)
    length = shared + own
    readValue(shared > 0)
    true
  }

  /**
   * Goes to the first entry whose key is not less than `wanted`, if there is one.
   *
   * @param trailer so many bytes at the end of each key do not count
   */
  def seek(wanted: Array[Byte], trailer: Int): Boolean = {
    def isLess: Boolean = {
      if (length < trailer) throw new IndexOutOfBoundsException(s"a key of $length bytes")
      Arrays.compareUnsigned(keyNow, 0, length - trailer, wanted, 0, wanted.length) < 0
    }
    var low = 0
    var high = restarts - 1
    while (low < high) {
      val middle = (low + high + 1) >>> 1
      restart(middle)
      if (advance() && isLess) low = middle else high = middle - 1
    }
    restart(low)
    var found = advance()
    while (found && isLess) found = advance()
    found
  }

  /** Where the entry of a restart begins, in the block. */
  private[checkpoint] def restartAt(number: Int): Int =
    numbers.getInt(restartsAt.toInt + 4 * number)

  private def restart(number: Int): Unit = {
    length = 0
    source.moveTo(block.offset + restartAt(number))
  }
}
