package io.bucketstate.checkpoint.sst

import java.nio.{ByteBuffer, ByteOrder}

import io.bucketstate.checkpoint.io.{ByteSlice, Damage, ReadableFile}
import io.bucketstate.error.CorruptException

/**
 * An SST's blocks, verified and decompressed. Nothing is used, or believed to be a length, before its
 * checksum was right; a block that does not lie in the file is not even asked for. Thread-safe.
 *
 * {{{
 *   block := bytes | compression u8 (see SstCompression) | checksum u32 of all before
 * }}}
 *
 * LZ4 and Zstandard have varint(raw length) in front, Snappy has it in its own format.
 *
 * @param mend is asked to make a damaged file right; true if it is worth reading the block once more
 */
private[checkpoint] final class SstBlocks(
    file: ReadableFile,
    footer: SstFooter,
    damage: Damage,
    mend: () => Boolean
) {
  import SstBlocks._

  /**
   * One read. Throws `CorruptException` if the block is not what was written.
   *
   * @param part what the block is, for the message
   */
  def read(at: SstHandle, part: String): ByteSlice =
    try readOnce(at, part)
    catch { case e: CorruptException => readAgain(at, part, e) }

  /** Reads a block again that was found to be damaged. Throws what was `found`, if the file cannot be had anew. */
  def readAgain(at: SstHandle, part: String, found: CorruptException): ByteSlice =
    if (mend()) readOnce(at, part) else throw found

  /**
   * Neighbouring blocks as they are stored, in one read, each to be opened.
   *
   * @param last lies behind `first`, or is the same
   */
  def readSome(first: SstHandle, last: SstHandle, part: String): Array[Byte] = {
    require(first, part)
    require(last, part)
    val length = last.offset - first.offset + last.size + SstHandle.TrailerBytes
    // Places of an index that was changed may lie in the file and be in no order.
    if (last.offset < first.offset || length > MaxBytes) throw outside(last, part)
    file.read(first.offset, length.toInt)
  }

  /** Reads blocks again that lie outside of what there is. Throws what was `found`, if the file cannot be had anew. */
  def readSomeAgain(
      first: SstHandle,
      last: SstHandle,
      part: String,
      found: CorruptException
  ): Array[Byte] = if (mend()) readSome(first, last, part) else throw found

  /**
   * A block that was read. Throws `CorruptException` if it is not what was written.
   *
   * @param stored has the whole block, with what stands behind it, from `from`
   * @param room   takes the raw bytes if they fit: good until it is used again
   */
  def open(
      stored: Array[Byte],
      from: Int,
      at: SstHandle,
      part: String,
      room: Array[Byte]
  ): ByteSlice = {
    // Of several blocks that were read at once, only the first and the last were looked at before.
    if (
      at.size < LeastBytes || from < 0 || at.size + SstHandle.TrailerBytes > stored.length - from.toLong
    )
      throw outside(at, part)
    val size = at.size.toInt
    verify(stored, from, at, part)
    val block = new ByteSlice(stored, from, size)
    val kind = stored(from + size)
    if (kind == NoCompression) block else inflated(kind, block, part, at.offset, room)
  }

  private def readOnce(at: SstHandle, part: String): ByteSlice =
    open(readSome(at, at, part), 0, at, part, NoRoom)

  private def require(at: SstHandle, part: String): Unit = {
    val room = footer.offset - SstHandle.TrailerBytes
    if (
      at.offset < 0 || at.offset > room || at.size < LeastBytes || at.size > room - at.offset ||
      at.size > MaxBytes
    ) throw outside(at, part)
  }

  private def outside(at: SstHandle, part: String) = {
    val room = footer.offset - SstHandle.TrailerBytes
    damage(
      s"expected the $part within the first $room bytes, found ${at.size} bytes at byte ${at.offset}"
    )
  }

  private def verify(stored: Array[Byte], from: Int, at: SstHandle, part: String): Unit = {
    val length = at.size.toInt + 1
    val found = footer.checksum.of(stored, from, length, footer.base, at.offset)
    val expected = ByteBuffer.wrap(stored).order(ByteOrder.LITTLE_ENDIAN).getInt(from + length)
    if (found != expected) throw mismatch(part, at.offset, expected, found)
  }

  private def mismatch(part: String, at: Long, expected: Int, found: Int) = damage.mismatch(
    s"the $part at byte $at to have checksum",
    expected.toHexString,
    found.toHexString
  )

  private def inflated(
      kind: Byte,
      block: ByteSlice,
      part: String,
      at: Long,
      room: Array[Byte]
  ): ByteSlice = {
    val how = SstCompression.ofKind(kind)
    if (how == null) {
      throw damage(
        s"expected the $part at byte $at to be compressed by Snappy (1), LZ4 (4) or " +
          s"Zstandard (7), found $kind"
      )
    }
    var raw = room
    var expected = 0
    val length =
      try {
        val bytes = new SstBytes(block)
        expected = bytes.length()
        val from = if (how.hasLength) bytes.rest else block
        if (expected > how.codec.mostRaw(from.length))
          throw new IndexOutOfBoundsException(s"$expected bytes in ${from.length}")
        if (raw.length < expected) raw = new Array[Byte](expected)
        how.codec.decompress(from.array, from.offset, from.length, raw, expected)
      } catch {
        case e: Exception => throw damage(s"the $part at byte $at cannot be decompressed", e)
      }
    if (length != expected) {
      throw damage.mismatch(s"the $part at byte $at to have a raw length of", expected, length)
    }
    new ByteSlice(raw, 0, length)
  }
}

private[checkpoint] object SstBlocks {

  /** No room at all. */
  private val NoRoom = new Array[Byte](0)

  /** No block is shorter: what ends even one without entries takes 8. */
  private val LeastBytes = 9L

  private val NoCompression: Byte = 0
  private val MaxBytes = Int.MaxValue - 64L // what an array can hold, with the trailer
}
