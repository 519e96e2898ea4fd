package io.bucketstate.checkpoint.sst

import java.io.OutputStream
import java.nio.charset.StandardCharsets.US_ASCII
import java.nio.file.Path
import java.util.{Arrays, UUID}

import io.bucketstate.checkpoint.run.RunFormat
import io.bucketstate.checkpoint.sst.hash.Xxph3
import io.bucketstate.error.InvalidException

/**
 * Writes an SST as RocksDB's `SstFileWriter` would, without RocksDB: its library is loaded by nobody, no
 * record is copied across to it, and the time goes into the bytes alone.
 *
 * {{{
 *   file := data block+ | filter? | index | properties | metaindex | footer
 *   filter, index := the one part | part+ list of the parts
 * }}}
 *
 * Each entry is made in place, in the one block that is being filled; keys stand in two arrays, the current
 * one and the one before, which take turns. So a record costs no allocation. For one thread.
 *
 * @param id     no other file has it
 * @param create makes the file
 */
private[checkpoint] final class SstWriter(
    path: Path,
    options: SstOptions,
    id: UUID,
    create: Path => OutputStream
) extends AutoCloseable {
  import SstWriter._

  private[this] val compression = SstCompression.of(options.codec)
  private[this] val out = new SstOutput(path, compression, baseOf(id), create)
  private[this] val data = new SstBlockBuilder(RestartInterval)
  private[this] val parts = new SstPartsBuilder(options.bloomBits)
  private[this] var key = new Array[Byte](256) // bytes before the trailer are the user's
  private[this] var last = new Array[Byte](256)
  private[this] var lastLength = -1 // without the trailer; negative until there is one
  private[this] var entries = 0L
  private[this] var blocks = 0L
  private[this] var rawKeys = 0L
  private[this] var rawValues = 0L

  /** Bytes on the disk so far, without the block that is being filled. */
  def length: Long = out.length

  /** CRC32C of the bytes on the disk so far. */
  def checksum: Int = out.checksum

  /**
   * Adds a record of a run. Throws `InvalidException` unless its key is behind all before it.
   *
   * @param prefix   stands in front of the key
   * @param record   has the key from `keyStart`, the value from `keyEnd` until `valueEnd`
   * @param tag      stands in front of the value
   */
  def add(
      prefix: Int,
      record: Array[Byte],
      keyStart: Int,
      keyEnd: Int,
      tag: Byte,
      valueEnd: Int
  ): Unit = {
    val keyBytes = keyEnd - keyStart
    val length = RunFormat.PrefixLength + keyBytes
    if (key.length < length + RunFormat.TrailerLength)
      key = new Array[Byte](Math.addExact(length + length / 2, RunFormat.TrailerLength))
    RunFormat.putPrefix(key, prefix)
    System.arraycopy(record, keyStart, key, RunFormat.PrefixLength, keyBytes)
    val common = inCommon(length)
    if (data.length >= options.blockBytes && !data.isEmpty) {
      // The shortest key that is not before this block's last, and is before the next one's first.
      if (common < lastLength && common + 1 < length) endBlock(key, common + 1, isLast = false)
      else endBlock(last, lastLength, isLast = false)
    }
    System.arraycopy(RunFormat.Trailer, 0, key, length, RunFormat.TrailerLength)
    val valueBytes = valueEnd - keyEnd
    data.add(key, length + RunFormat.TrailerLength, common, 1 + valueBytes)
    data.append(tag)
    data.append(record, keyEnd, valueBytes)
    if (parts.isFilterWanted) parts.addKey(Xxph3.hash(key, length))
    entries += 1
    rawKeys += length + RunFormat.TrailerLength
    rawValues += 1 + valueBytes
    val spare = last
    last = key
    lastLength = length
    key = spare
  }

  /** Writes what is left. Nothing can be added behind this; there must be an entry. */
  def finish(): Unit = {
    endBlock(last, lastLength, isLast = true)
    val dataBytes = out.length
    val metaindex = new SstBlockBuilder(restartInterval = 1)
    val written = parts.write(out)
    val filter = written.filter.root
    // Names come in their order.
    if (filter != null)
      addPart(metaindex, if (filter.isParted) SstFilter.Parted else SstFilter.Whole, filter.at)
    addPart(metaindex, SstLayout.Index, written.index.root.at)
    val sizes = SstProperties.Sizes(entries, blocks, rawKeys, rawValues, dataBytes, written)
    val properties = SstProperties.block(sizes, compression, id)
    addPart(metaindex, SstLayout.Properties, out.store(properties.array, properties.length))
    metaindex.finish()
    out.footer(out.store(metaindex.array, metaindex.length))
  }

  def close(): Unit = out.close()

  private def endBlock(separator: Array[Byte], separatorLength: Int, isLast: Boolean): Unit = {
    data.finish()
    val place = out.compress(data)
    data.reset()
    parts.addBlock(separator, separatorLength, place, isLast)
    blocks += 1
  }

  /** How many bytes at the front of the new key are those of the one before. */
  private def inCommon(length: Int): Int =
    if (lastLength < 0) 0
    else {
      val at = Arrays.mismatch(last, 0, lastLength, key, 0, length)
      val inOrder =
        at == lastLength || (at >= 0 && at < length && (last(at) & 0xff) < (key(at) & 0xff))
      if (!inOrder) throw outOfOrder()
      at
    }

  private def outOfOrder() = new InvalidException(
    s"A run's records must come in the order of their keys, each once; after $entries entries of " +
      s"$path came one that does not",
    "This is a defect of the caller; please report it."
  )

  private def addPart(metaindex: SstBlockBuilder, name: String, place: SstHandle): Unit = {
    val value = new Array[Byte](SstHandle.MaxBytes)
    metaindex.add(name.getBytes(US_ASCII), value.take(place.write(value, 0)))
  }
}

private object SstWriter {
  private val RestartInterval = 16

  /** Any number but 0 that other files do not have. */
  private def baseOf(id: UUID): Int = {
    val bits = id.getMostSignificantBits ^ id.getLeastSignificantBits
    val base = (bits ^ (bits >>> 32)).toInt
    if (base == 0) 1 else base
  }
}
