package io.bucketstate.checkpoint.sst

import io.bucketstate.checkpoint.io.LittleEndian
import io.bucketstate.checkpoint.sst.hash.Xxh3

/**
 * The checksums of an SST's blocks and footer, as table format 6 has them: changed by where the block lies and
 * of which file it is, so that a sound block in the wrong place is found (RocksDB's `table/format.h` and
 * `table/format.cc`).
 *
 * @param kind what the footer calls it
 */
private[checkpoint] sealed abstract class SstChecksum(val kind: Byte) {

  /**
   * @param base   the footer's number for this file, not 0
   * @param offset where in the file the bytes begin
   */
  def of(bytes: Array[Byte], from: Int, length: Int, base: Int, offset: Long): Int =
    plain(bytes, from, length) + (base ^ (offset.toInt + (offset >>> 32).toInt))

  /** The checksum of the bytes alone, wherever they lie. */
  protected def plain(bytes: Array[Byte], from: Int, length: Int): Int
}

private[checkpoint] object SstChecksum {

  /**
   * CRC32C, masked, so that a checksum of bytes that hold checksums is a good one too (RocksDB's
   * `util/crc32c.h`). What this project writes.
   */
  case object Crc32c extends SstChecksum(1) {
    private val MaskDelta = 0xa282ead8

    protected def plain(bytes: Array[Byte], from: Int, length: Int): Int =
      Integer.rotateRight(LittleEndian.crc(bytes, from, length), 15) + MaskDelta

    /** Puts the checksum of the first `length` bytes behind them. */
    def write(bytes: Array[Byte], length: Int, base: Int, offset: Long): Unit =
      LittleEndian.putInt(bytes, length, of(bytes, 0, length, base, offset))
  }

  /** RocksDB's own choice, for files that others wrote: the lower half of all but the last byte, and that. */
  case object LowerXxh3 extends SstChecksum(4) {
    private val LastByte = 0x6b9083d9

    protected def plain(bytes: Array[Byte], from: Int, length: Int): Int =
      Xxh3.hash(bytes, from, length - 1).toInt ^ ((bytes(from + length - 1) & 0xff) * LastByte)
  }

  /** Null if no such checksum is read here. */
  def ofKind(kind: Byte): SstChecksum = kind match {
    case 1 => Crc32c
    case 4 => LowerXxh3
    case _ => null
  }
}
