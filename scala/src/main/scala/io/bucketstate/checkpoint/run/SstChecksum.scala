package io.bucketstate.checkpoint.run

import java.util.zip.CRC32C

/**
 * The checksums of an SST's blocks and footer, as table format 6 has them where the type is CRC32C: masked,
 * so that a checksum of bytes that hold checksums is a good one too, and changed by where the block lies and
 * of which file it is, so that a sound block in the wrong place is found (RocksDB's `table/format.h` and
 * `util/crc32c.h`).
 */
private[run] object SstChecksum {

  /** What the footer calls CRC32C. */
  val Crc32c: Byte = 1

  private val MaskDelta = 0xa282ead8

  /**
   * @param base   the footer's number for this file, not 0
   * @param offset where in the file the bytes begin
   */
  def of(bytes: Array[Byte], from: Int, length: Int, base: Int, offset: Long): Int = {
    val crc = new CRC32C
    crc.update(bytes, from, length)
    Integer.rotateRight(crc.getValue.toInt, 15) + MaskDelta + placeOf(base, offset)
  }

  /** Puts the checksum of the first `length` bytes behind them. */
  def write(bytes: Array[Byte], length: Int, base: Int, offset: Long): Unit = {
    val crc = of(bytes, 0, length, base, offset)
    bytes(length) = crc.toByte
    bytes(length + 1) = (crc >>> 8).toByte
    bytes(length + 2) = (crc >>> 16).toByte
    bytes(length + 3) = (crc >>> 24).toByte
  }

  private def placeOf(base: Int, offset: Long): Int = base ^ (offset.toInt + (offset >>> 32).toInt)
}
