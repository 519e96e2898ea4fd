package io.bucketstate.checkpoint.sst

import java.util.Arrays

import io.bucketstate.checkpoint.io.ByteSlice
import io.bucketstate.checkpoint.run.LookUpTrace

/** Says of a key that it is not in a file, or that it may be. Thread-safe. */
private[checkpoint] trait KeyFilter extends LookUpPart {

  /** @param hash of the key as files of runs have it */
  def mayHave(hash: Long, trace: LookUpTrace): Boolean
}

/**
 * A filter in memory: RocksDB's cache-local Bloom filter
 * (`FastLocalBloomImpl` in its `util/bloom_impl.h`), so that it serves RocksDB and this reader alike.
 *
 * {{{
 *   filter := line{n} | -1 u8 | 0 u8 | probes u8 | 0 u16
 * }}}
 *
 * The lower half of a key's hash chooses a line of 64 bytes, the upper half that many bits in it: one look at
 * memory for a key. With 10 bits a key and 6 probes about 1 % of the keys that are not there may be; how many probes
 * go with other numbers of bits is RocksDB's choice, too.
 * Immutable.
 */
private[checkpoint] final class SstFilter private (
    private[checkpoint] val block: ByteSlice,
    private[checkpoint] val shape: SstFilter.Shape
) extends KeyFilter {

  override def heapBytes: Long = block.array.length.toLong

  override def mayHave(hash: Long, trace: LookUpTrace): Boolean = mayHave(hash)

  def mayHave(hash: Long): Boolean =
    shape.mayHave(block.array, block.offset + shape.lineOf(hash), hash)
}

private[checkpoint] object SstFilter {

  /** What the metaindex calls it. */
  final val Part = "fullfilter.rocksdb.BuiltinBloomFilter"

  /** What the properties call it. */
  final val Policy = "bloomfilter"

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
    else Some(new SstFilter(block, new Shape(size / LineBytes, probes)))
  }

  /** How a filter is to be read. Immutable. */
  final class Shape(lines: Int, probes: Int) {

    /** Bytes of all lines. */
    def length: Int = lines * LineBytes

    /** Where the line of a key begins, behind the filter's beginning. */
    def lineOf(hash: Long): Int = SstFilter.lineOf(hash, lines)

    /** @param line where it begins in the array */
    def mayHave(bytes: Array[Byte], line: Int, hash: Long): Boolean = {
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
   * Gathers the hashes of a file's keys. For one thread.
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
