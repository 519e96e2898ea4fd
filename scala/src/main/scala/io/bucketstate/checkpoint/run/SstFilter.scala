package io.bucketstate.checkpoint.run

import java.util.Arrays

import io.bucketstate.checkpoint.io.ByteSlice

/**
 * Says of a key that it is not in a file, or that it may be: RocksDB's cache-local Bloom filter
 * (`FastLocalBloomImpl` in its `util/bloom_impl.h`), so that it serves RocksDB and this reader alike.
 *
 * {{{
 *   filter := line{n} | -1 u8 | 0 u8 | probes u8 | 0 u16
 * }}}
 *
 * The lower half of a key's hash chooses a line of 64 bytes, the upper half that many bits in it: one look at
 * memory for a key. With 10 bits a key and 6 probes about 1 % of the keys that are not there may be.
 * Immutable.
 */
private[run] final class SstFilter private (
    bytes: Array[Byte],
    from: Int,
    lines: Int,
    probes: Int
) {
  import SstFilter._

  def heapBytes: Long = bytes.length.toLong

  def mayHave(hash: Long): Boolean = {
    val line = from + lineOf(hash, lines)
    var rest = (hash >>> 32).toInt
    var left = probes
    while (left > 0 && (bytes(line + (rest >>> 26)) >>> ((rest >>> 23) & 7) & 1) != 0) {
      rest *= Step
      left -= 1
    }
    left == 0
  }
}

private[run] object SstFilter {

  /** What the metaindex calls it. */
  final val Part = "fullfilter.rocksdb.BuiltinBloomFilter"

  /** What the properties call it. */
  final val Policy = "bloomfilter"

  private val BitsPerKey = 10L
  private val Probes = 6
  private val LineBytes = 64
  private val MetadataBytes = 5
  private val Step = 0x9e3779b9
  private val MaxBytes = (Int.MaxValue - 1024) / LineBytes * LineBytes.toLong

  /** A filter that was stored; None if it is one that is not read here, which changes no answer. */
  def of(block: ByteSlice): Option[SstFilter] = {
    val size = block.length - MetadataBytes
    val at = block.offset + size
    val known = size > 0 && size % LineBytes == 0 && block.array(at) == -1 &&
      block.array(at + 1) == 0 && block.array(at + 3) == 0 && block.array(at + 4) == 0
    // The upper three bits are the size of a line, 0 for 64 bytes.
    val probes = if (known) block.array(at + 2).toInt else 0
    if (probes < 1 || probes > 30) None
    else Some(new SstFilter(block.array, block.offset, size / LineBytes, probes))
  }

  private def lineOf(hash: Long, lines: Int): Int =
    (((hash & 0xffffffffL) * lines) >>> 32).toInt * LineBytes

  /** Gathers the hashes of a file's keys. For one thread. */
  final class Builder {
    private[this] var hashes = new Array[Long](1024)
    private[this] var count = 0

    def add(hash: Long): Unit = {
      if (count == hashes.length)
        hashes = Arrays.copyOf(hashes, math.max(count + 1, count + (count >> 1)))
      hashes(count) = hash
      count += 1
    }

    def entries: Int = count

    /** Length of the filter of those added, in bytes. */
    def length: Int = size + MetadataBytes

    /** @param spare so many bytes more at the end, for the caller */
    def build(spare: Int): Array[Byte] = {
      val bytes = new Array[Byte](length + spare)
      val lines = size / LineBytes
      var i = 0
      while (i < count) {
        set(bytes, hashes(i), lines)
        i += 1
      }
      bytes(size) = -1
      bytes(size + 2) = Probes.toByte
      bytes
    }

    private def set(bytes: Array[Byte], hash: Long, lines: Int): Unit = {
      val line = lineOf(hash, lines)
      var rest = (hash >>> 32).toInt
      var left = Probes
      while (left > 0) {
        val at = line + (rest >>> 26)
        bytes(at) = (bytes(at) | (1 << ((rest >>> 23) & 7))).toByte
        rest *= Step
        left -= 1
      }
    }

    private def size: Int = {
      val wanted = (count * BitsPerKey + 7) / 8
      math.min(MaxBytes, (wanted + LineBytes - 1) / LineBytes * LineBytes).toInt
    }
  }
}
