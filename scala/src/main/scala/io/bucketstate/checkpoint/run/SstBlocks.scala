package io.bucketstate.checkpoint.run

import java.nio.{ByteBuffer, ByteOrder}

import io.bucketstate.checkpoint.io.{ByteSlice, Damage, ReadableFile}

/**
 * An SST's blocks, verified and decompressed. Nothing is used, or believed to be a length, before its
 * checksum was right; a block that does not lie in the file is not even asked for. Thread-safe.
 *
 * {{{
 *   block := bytes | compression u8 (0 none, 1 Snappy, 4 LZ4, 7 Zstandard) | checksum u32 of all before
 * }}}
 *
 * LZ4 and Zstandard have varint(raw length) in front, Snappy has it in its own format.
 */
private[run] final class SstBlocks(file: ReadableFile, footer: SstFooter, damage: Damage) {
  import SstBlocks._

  /**
   * One read. Throws `CorruptException` if the block is not what was written.
   *
   * @param part what the block is, for the message
   */
  def read(at: SstHandle, part: String): ByteSlice = {
    val stored = verified(at, part)
    val size = stored.length - TrailerBytes
    val block = new ByteSlice(stored, 0, size)
    if (stored(size) == NoCompression) block
    else {
      val raw = inflated(stored(size), block, part, at.offset)
      new ByteSlice(raw, 0, raw.length)
    }
  }

  private def verified(at: SstHandle, part: String): Array[Byte] = {
    val room = footer.offset - TrailerBytes
    if (
      at.offset < 0 || at.offset > room || at.size < 0 || at.size > room - at.offset ||
      at.size > MaxBytes
    ) {
      throw damage(
        s"expected the $part within the first $room bytes, found ${at.size} bytes at byte ${at.offset}"
      )
    }
    val size = at.size.toInt
    val stored = file.read(at.offset, size + TrailerBytes)
    val found = SstChecksum.of(stored, size + 1, footer.base, at.offset)
    val expected = ByteBuffer.wrap(stored).order(ByteOrder.LITTLE_ENDIAN).getInt(size + 1)
    if (found != expected) {
      throw damage.mismatch(
        s"the $part at byte ${at.offset} to have checksum",
        expected.toHexString,
        found.toHexString
      )
    }
    stored
  }

  private def inflated(kind: Byte, block: ByteSlice, part: String, at: Long): Array[Byte] = {
    val how = SstCompression.ofKind(kind)
    if (how == null) {
      throw damage(
        s"expected the $part at byte $at to be compressed by Snappy (1), LZ4 (4) or " +
          s"Zstandard (7), found $kind"
      )
    }
    var raw: Array[Byte] = null
    val length =
      try {
        val bytes = new SstBytes(block)
        raw = new Array[Byte](bytes.length())
        val from = if (how.hasLength) bytes.rest else block
        how.codec.decompress(from.array, from.offset, from.length, raw, raw.length)
      } catch {
        case e: Exception => throw damage(s"the $part at byte $at cannot be decompressed", e)
      }
    if (length != raw.length) {
      throw damage.mismatch(s"the $part at byte $at to have a raw length of", raw.length, length)
    }
    raw
  }
}

private[run] object SstBlocks {

  /** Behind each block: how it is compressed, and its checksum. */
  val TrailerBytes = 5

  private val NoCompression: Byte = 0
  private val MaxBytes = Int.MaxValue - 64L // what an array can hold, with the trailer
}
