package io.bucketstate.checkpoint.sst

import java.io.OutputStream
import java.nio.file.Path
import java.util.zip.CRC32C

import io.bucketstate.checkpoint.io.WorkFolder

/**
 * An SST's blocks, put into a new file one behind the other, compressed where that is worth it, each with its
 * checksum behind it (see [[SstBlocks]]). Sums up the whole file on the way, so that nobody has to read it
 * again to know its checksum. For one thread; what the disk refuses is an `UnavailableException`.
 *
 * @param base   this file's part of each checksum, not 0
 * @param create makes the file
 */
private[checkpoint] final class SstOutput(
    path: Path,
    compression: SstCompression,
    base: Int,
    create: Path => OutputStream
) extends AutoCloseable {
  import SstOutput._

  private[this] val out = WorkFolder.writing(path)(create(path))
  private[this] val compressor = compression.codec.newCompressor()
  private[this] val sum = new CRC32C
  private[this] var compressed = new Array[Byte](0)
  private[this] var offset = 0L

  /** Bytes so far. */
  def length: Long = offset

  /** CRC32C of all bytes so far. */
  def checksum: Int = sum.getValue.toInt

  /** Writes a finished block, compressed where it shrinks by more than an eighth, as RocksDB wants it. */
  def compress(block: SstBlockBuilder): SstHandle =
    if (compression == SstCompression.Off) put(block.array, block.length, compression.kind)
    else {
      val raw = block.length
      val bound = MaxLength + compressor.bound(raw) + SstHandle.TrailerBytes
      if (compressed.length < bound) compressed = new Array[Byte](bound)
      val from = compression.putLength(compressed, raw)
      val length = from + compressor.compress(block.array, 0, raw, compressed, from)
      if (length <= ((raw * 7L) >> 3)) put(compressed, length, compression.kind)
      else put(block.array, raw, SstCompression.Off.kind)
    }

  /** Writes the first `count` bytes as they are; the array must have room for what stands behind a block. */
  def store(bytes: Array[Byte], count: Int): SstHandle =
    put(bytes, count, SstCompression.Off.kind)

  /** The end of the file. */
  def footer(metaindex: SstHandle): Unit = append(SstFooter.write(base, metaindex, offset))

  def close(): Unit =
    try compressor.close()
    finally WorkFolder.writing(path)(out.close())

  private def put(bytes: Array[Byte], count: Int, kind: Byte): SstHandle = {
    val place = SstHandle(offset, count.toLong)
    bytes(count) = kind
    SstChecksum.Crc32c.write(bytes, count + 1, base, offset)
    append(bytes, count + SstHandle.TrailerBytes)
    place
  }

  private def append(bytes: Array[Byte]): Unit = append(bytes, bytes.length)

  private def append(bytes: Array[Byte], count: Int): Unit = {
    sum.update(bytes, 0, count)
    WorkFolder.writing(path)(out.write(bytes, 0, count))
    offset += count
  }
}

private object SstOutput {

  /** What the raw length in front takes at most. */
  private val MaxLength = 5
}
