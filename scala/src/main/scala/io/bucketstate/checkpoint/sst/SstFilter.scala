package io.bucketstate.checkpoint.sst

import java.util.Arrays

import io.bucketstate.checkpoint.io.ByteSlice

/**
 * RocksDB's cache-local Bloom filter (`FastLocalBloomImpl` in its `util/bloom_impl.h`), so that it serves RocksDB and this
 * reader alike. A file has one, or one for each part of its index.
 *
 * {{{
 *   filter := line{n} | -1 u8 | 0 u8 | probes u8 | 0 u16
 * }}}
 *
 * The lower half of a key's hash chooses a line of 64 bytes, the upper half that many bits in it: one look at
 * memory for a key. With 10 bits a key and 6 probes about 1 % of the keys that are not there may be; how many probes
 * go with other numbers of bits is RocksDB's choice, too.
 */
private[checkpoint] object SstFilter {

  /** What the metaindex calls it. */
  final val Whole = "fullfilter.rocksdb.BuiltinBloomFilter"

  /** What it calls the list of its parts. */
  final val Parted = "partitionedfilter.rocksdb.BuiltinBloomFilter"

  /** What the properties call it. */
  final val Policy = "bloomfilter"

  private val LineBytes = 64
  private val MetadataBytes = 5
  private val Step = 0x9e3779b9
  private val MaxBytes = (Int.MaxValue - 1024) / LineBytes * LineBytes.toLong

  /**
   * Whether a key may be among those of a filter. One of a kind that is not read here denies none.
   *
   * @param hash of the key as files of runs have it
   */
  def mayHave(filter: ByteSlice, hash: Long): Boolean = {
    val size = filter.length - MetadataBytes
    val bytes = filter.array
    val at = filter.offset + size
    val isKnown = size > 0 && size % LineBytes == 0 && bytes(at) == -1 && bytes(at + 1) == 0 &&
      bytes(at + 3) == 0 && bytes(at + 4) == 0
    // The upper three bits are the size of a line, 0 for 64 bytes.
    val probes = if (isKnown) bytes(at + 2).toInt else 0
    if (probes < 1 || probes > 30) true
    else {
      val line = filter.offset + lineOf(hash, size / LineBytes)
      var rest = (hash >>> 32).toInt
      var left = probes
      while (left > 0 && (bytes(line + (rest >>> 26)) >>> ((rest >>> 23) & 7) & 1) != 0) {
        rest *= Step
        left -= 1
      }
      left == 0
    }
  }

  private def lineOf(hash: Long, lines: Int): Int =
    (((hash & 0xffffffffL) * lines) >>> 32).toInt * LineBytes

  /**
   * How many for 0 to 30 bits a key, and the little more that rounding up gives: RocksDB's `ChooseNumProbes`, whose
   * numbers were found by trying.
   */
  private val Probes = Array(0, 1, 1, 2, 3, 3, 4, 5, 5, 6, 6, 7, 8, 8, 9, 9, 9, 10, 10, 11, 11, 11,
    12, 12, 12, 12, 12, 12, 13, 13, 14)

  /**
   * Gathers the hashes of keys. For one thread.
   *
   * @param bitsPerKey 0 if there is to be no filter
   */
  final class Builder(bitsPerKey: Int) {
    private[this] val probes = Probes(bitsPerKey)
    private[this] var hashes = new Array[Long](1024)
    private[this] var count = 0

    def add(hash: Long): Unit = {
      if (count == hashes.length)
        hashes = Arrays.copyOf(hashes, math.max(count + 1, count + (count >> 1)))
      hashes(count) = hash
      count += 1
    }

    def entries: Int = count

    def isWanted: Boolean = bitsPerKey > 0

    /** Length of the filter of those added, in bytes. */
    def length: Int = if (isWanted) size + MetadataBytes else 0

    /** Forgets the keys. */
    def reset(): Unit = count = 0

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
      bytes(size + 2) = probes.toByte
      bytes
    }

    private def set(bytes: Array[Byte], hash: Long, lines: Int): Unit = {
      val line = lineOf(hash, lines)
      var rest = (hash >>> 32).toInt
      var left = probes
      while (left > 0) {
        val at = line + (rest >>> 26)
        bytes(at) = (bytes(at) | (1 << ((rest >>> 23) & 7))).toByte
        rest *= Step
        left -= 1
      }
    }

    private def size: Int = {
      val wanted = (count * bitsPerKey.toLong + 7) / 8
      math.min(MaxBytes, (wanted + LineBytes - 1) / LineBytes * LineBytes).toInt
    }
  }
}
