package io.bucketstate.checkpoint.changelog

import java.util.Arrays
import java.util.zip.CRC32C

import scala.collection.mutable.ArrayBuffer

import io.bucketstate.checkpoint.io.{BlockCodec, BlockCompressor, LittleEndian}
import io.bucketstate.error.InvalidException
import io.bucketstate.record.{ChangeSet, ChangeSink, FamilyChanges, Record}

/**
 * Encodes change sets as changelogs (see `ChangelogFormat`), one after another for one thread. It
 * keeps its buffers from batch to batch and allocates nothing per record.
 *
 * @param blockBytes neighbouring buckets share a block until it has so many raw bytes
 * @param splitBytes a bucket with more raw bytes gets several blocks
 */
final class ChangelogWriter(
    blockBytes: Int = ChangelogFormat.BlockBytes,
    splitBytes: Int = ChangelogFormat.SplitBytes
) extends AutoCloseable {
  import ChangelogFormat._

  private val out = new ChunkedBuffer
  private val small = new LittleEndian.Writer
  private val crc = new CRC32C
  private val worth = new CompressionWorth
  private val blocks = ArrayBuffer.empty[ChangelogBlock]
  private var compressor: BlockCompressor = BlockCodec.Raw.newCompressor()
  private var compressorOf: BlockCodec = BlockCodec.Raw

  // What is not yet in a block: whole buckets that will share one up to byte `bucketFrom`, behind it
  // the bucket that is being filled.
  private var family = 0
  private var raw = new Array[Byte](2 * blockBytes)
  private var used = 0
  private var count = 0
  private var bucketFrom = 0
  private var countShared = 0
  private var firstShared = 0
  private var lastShared = 0
  private var bucket = 0 // the one that is being filled
  private var split = false // it already has a block

  private val sink: ChangeSink = (ofBucket, op, record) => {
    if (ofBucket != bucket) startBucket(ofBucket)
    append(op, record)
  }

  /**
   * The changelog of these changes. Every family of the store belongs here, also one without changes:
   * its key count is part of the version.
   */
  def encode(header: ChangelogHeader, changes: ChangeSet): EncodedChangelog = {
    reset(header.codec)
    val format = if (changes.families.exists(_.times.isDefined)) Timed else Plain
    val headerCrc = ChangelogHeader.encode(header, format, small)
    out.put(small.array, small.length)
    changes.families.foreach { family =>
      check(header, family)
      encodeFamily(family)
    }
    val footer = ChangelogFooter(
      changes.families.map(ChangelogFamily.of),
      changes.nextFamily,
      blocks.toIndexedSeq
    )
    encodeEnd(footer, headerCrc)
    new EncodedChangelog(out, footer)
  }

  def close(): Unit = {
    compressor.close()
    compressorOf = BlockCodec.Raw
    compressor = compressorOf.newCompressor()
  }

  private def reset(codec: BlockCodec): Unit = {
    if (codec ne compressorOf) {
      compressor.close()
      compressor = codec.newCompressor()
      compressorOf = codec
    }
    out.reset()
    small.reset()
    blocks.clear()
    startBlock()
    split = false
    worth.reset()
    // One huge value must not hold its memory for ever.
    if (raw.length > 16 * blockBytes) raw = new Array[Byte](2 * blockBytes)
  }

  private def check(h: ChangelogHeader, changes: FamilyChanges): Unit =
    if (changes.numBuckets != h.numBuckets) {
      throw new InvalidException(
        s"Changelog of version ${h.version}: expected the changes of column family " +
          s"'${changes.descriptor.name}' in ${h.numBuckets} buckets, found those in " +
          s"${changes.numBuckets}",
        "This is a defect of the caller; please report it."
      )
    }

  private def encodeFamily(changes: FamilyChanges): Unit = {
    family = changes.descriptor.id
    changes.foreach(sink)
    endBucket()
    cutShared()
  }

  private def startBucket(next: Int): Unit = {
    endBucket()
    bucket = next
  }

  private def append(op: Byte, record: Array[Byte]): Unit = {
    val length = record.length
    if (length > Record.MaxLength) throw tooLong(length)
    if (used > bucketFrom && used - bucketFrom > splitBytes - length) {
      cutAlone()
      split = true
    }
    val most = used + 6 + length
    if (most > raw.length) raw = Arrays.copyOf(raw, math.max(most, 2 * raw.length))
    raw(used) = op
    val body = Record.putVarint(raw, used + 1, length)
    System.arraycopy(record, 0, raw, body, length)
    used = body + length
    count += 1
  }

  /** Decides what becomes of the bucket just filled: a block of its own, or part of a shared one. */
  private def endBucket(): Unit = {
    if (used > bucketFrom) {
      if (split || used - bucketFrom >= blockBytes) cutAlone()
      else {
        if (bucketFrom == 0) firstShared = bucket
        lastShared = bucket
        bucketFrom = used
        countShared = count
        if (used >= blockBytes) cutShared()
      }
    }
    split = false
  }

  private def cutShared(): Unit = {
    if (bucketFrom > 0) cut(0, bucketFrom, firstShared, lastShared, countShared)
    startBlock()
  }

  private def cutAlone(): Unit = {
    if (bucketFrom > 0) cut(0, bucketFrom, firstShared, lastShared, countShared)
    cut(bucketFrom, used, bucket, bucket, count - countShared)
    startBlock()
  }

  private def startBlock(): Unit = {
    used = 0
    count = 0
    bucketFrom = 0
    countShared = 0
  }

  /** Compresses raw bytes straight into the output, and lists them as a block. */
  private def cut(from: Int, until: Int, first: Int, last: Int, n: Int): Unit = {
    val length = until - from
    out.reserve(math.max(compressor.bound(length), length))
    val offset = out.length
    val compressed =
      if (worth.isTried()) worth.of(compress(from, length), length) else length
    val shrinks = compressed < length
    if (!shrinks) System.arraycopy(raw, from, out.array, out.position, length)
    val stored = if (shrinks) compressed else length
    crc.reset()
    crc.update(out.array, out.position, stored)
    out.position += stored
    val codec = if (shrinks) compressorOf else BlockCodec.Raw
    blocks +=
      ChangelogBlock(family, first, last, offset, stored, length, n, codec, crc.getValue.toInt)
    ()
  }

  private def compress(from: Int, length: Int): Int =
    compressor.compress(raw, from, length, out.array, out.position)

  private def encodeEnd(footer: ChangelogFooter, headerCrc: Int): Unit = {
    val offset = out.length
    small.reset()
    ChangelogFooter.encode(footer, small)
    val trailer = ChangelogTrailer(offset, small.length, small.crcSoFar, headerCrc)
    out.put(small.array, small.length)
    small.reset()
    ChangelogTrailer.encode(trailer, small)
    out.put(small.array, small.length)
  }

  private def tooLong(length: Int): InvalidException = new InvalidException(
    s"A key and its value take $length bytes, at most ${Record.MaxLength} can be written",
    "Split the value, for example over several keys or a list state."
  )
}
