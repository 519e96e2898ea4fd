package io.bucketstate.checkpoint.sst

import java.util.zip.CRC32C

import io.bucketstate.checkpoint.io.ByteSlice

/**
 * Some bytes of a block that was verified.
 *
 * @param offset in the file
 * @param sum    CRC32C of what was verified
 */
private[checkpoint] final case class BlockPage(offset: Long, length: Int, sum: Int)

private[checkpoint] object BlockPage {

  /**
   * @param block verified, and stored as it is
   * @param from  in the block
   * @param at    where that lies in the file
   */
  def of(block: ByteSlice, from: Int, length: Int, at: SstHandle): BlockPage =
    BlockPage(at.offset + from, length, sum(block.array, block.offset + from, length))

  def sum(bytes: Array[Byte], from: Int, length: Int): Int = {
    val crc = new CRC32C
    crc.update(bytes, from, length)
    crc.getValue.toInt
  }
}
