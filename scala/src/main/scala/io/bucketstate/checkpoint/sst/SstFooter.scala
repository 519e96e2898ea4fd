package io.bucketstate.checkpoint.sst

import java.nio.{ByteBuffer, ByteOrder}

import io.bucketstate.checkpoint.io.{Damage, ReadableFile}
import io.bucketstate.checkpoint.run.RunFormat

/**
 * The end of an SST, which leads to everything else.
 *
 * @param checksum  of blocks and of the footer
 * @param base      part of each block's checksum, this file's own
 * @param metaindex the block with the places of the parts that are not data
 * @param offset    of the footer: all blocks end before it
 */
private[checkpoint] final case class SstFooter(
    checksum: SstChecksum,
    base: Int,
    metaindex: SstHandle,
    offset: Long
)

/**
 * {{{
 *   footer := checksum type u8 | extended magic u32 | checksum u32 | base u32 | metaindex size u32
 *           | 24 bytes, the last 8 of them 0 | table format u32 | magic u64
 * }}}
 *
 * little-endian, the checksum that of the footer with zeros in its place (RocksDB's `table/format.cc`).
 */
private[checkpoint] object SstFooter {
  val Bytes = 53

  private val ExtendedMagic = 0x007a003e
  private val BlockBasedTable = 0x88e241b785f4cff7L

  private val ExtendedMagicAt = 1
  private val ChecksumAt = 5
  private val BaseAt = 9
  private val MetaindexSizeAt = 13
  private val ReservedAt = 33
  private val TableFormatAt = 41
  private val MagicAt = 45

  /** Throws `CorruptException` if it is damaged, or of another kind than is read here. */
  def read(file: ReadableFile, damage: Damage): SstFooter = {
    val offset = file.length - Bytes
    if (offset < SstHandle.TrailerBytes)
      throw damage(s"expected an SST with a footer of $Bytes bytes, found ${file.length} bytes")
    val bytes = file.read(offset, Bytes)
    val fields = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN)
    val (magic, format) = (fields.getLong(MagicAt), fields.getInt(TableFormatAt))
    val checksum = SstChecksum.ofKind(bytes(0))
    if (magic != BlockBasedTable || format != RunFormat.TableFormat || checksum == null) {
      throw damage(
        s"expected a block-based table of format ${RunFormat.TableFormat} with checksums of type 1 " +
          s"(CRC32C) or 4 (XXH3), found magic number ${magic.toHexString}, format $format, " +
          s"checksums of type ${bytes(0)}"
      )
    }
    decode(bytes, fields, checksum, offset, damage)
  }

  /** @param offset where it will lie, right behind the metaindex */
  def write(base: Int, metaindex: SstHandle, offset: Long): Array[Byte] = {
    val bytes = new Array[Byte](Bytes)
    val fields = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN)
    bytes(0) = SstChecksum.Crc32c.kind
    fields.putInt(ExtendedMagicAt, ExtendedMagic)
    fields.putInt(BaseAt, base)
    fields.putInt(MetaindexSizeAt, Math.toIntExact(metaindex.size))
    fields.putInt(TableFormatAt, RunFormat.TableFormat)
    fields.putLong(MagicAt, BlockBasedTable)
    fields.putInt(ChecksumAt, SstChecksum.Crc32c.of(bytes, 0, Bytes, base, offset))
    bytes
  }

  private def decode(
      bytes: Array[Byte],
      fields: ByteBuffer,
      checksum: SstChecksum,
      offset: Long,
      damage: Damage
  ): SstFooter = {
    val base = fields.getInt(BaseAt)
    val expected = fields.getInt(ChecksumAt)
    fields.putInt(ChecksumAt, 0)
    val found = checksum.of(bytes, 0, Bytes, base, offset)
    if (found != expected) {
      throw damage.mismatch("the footer's checksum", expected.toHexString, found.toHexString)
    }
    val isExtended = fields.getInt(ExtendedMagicAt) == ExtendedMagic
    if (base == 0 || !isExtended || fields.getLong(ReservedAt) != 0) {
      throw damage(s"expected a footer of table format ${RunFormat.TableFormat}, found another")
    }
    val size = Integer.toUnsignedLong(fields.getInt(MetaindexSizeAt))
    val metaindex = SstHandle(offset - SstHandle.TrailerBytes - size, size)
    SstFooter(checksum, base, metaindex, offset)
  }
}
