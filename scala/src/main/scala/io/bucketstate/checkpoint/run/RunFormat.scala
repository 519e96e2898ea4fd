package io.bucketstate.checkpoint.run

import java.nio.ByteBuffer
import java.util.Arrays

import io.bucketstate.checkpoint.io.Damage
import io.bucketstate.error.InvalidException
import io.bucketstate.record.{Record, RecordOp}

/**
 * The layout of a run's file, format version 1: an SST as RocksDB's `SstFileWriter` makes it (block
 * based, bytewise comparator, table format 6), whose entries are all plain puts:
 *
 * {{{
 *   key   := family u16 big-endian | bucket u16 big-endian | key bytes
 *   value := tag u8 (1 PUT, 2 TOMBSTONE, 3 MERGE) | value bytes (a TOMBSTONE has none)
 * }}}
 *
 * Tombstones are values and not RocksDB's own deletions, because those would be gone for a reader that
 * ingests the file alone. Table format 6 makes each block's checksum depend on where the block lies, and
 * covers the footer too.
 */
private[bucketstate] object RunFormat {
  val PrefixLength = 4
  val TableFormat = 6

  /** Both are written as u16. */
  val MaxFamily = 0xffff
  val MaxBucket = 0xffff

  /** Family and bucket in one number that compares as the bytes do, unsigned. */
  def prefix(family: Int, bucket: Int): Int = (family << 16) | bucket

  def familyOf(prefix: Int): Int = prefix >>> 16

  def bucketOf(prefix: Int): Int = prefix & 0xffff

  /** Behind each key in data blocks: a put (1) with sequence number 0, as external files have. */
  val TrailerLength = 8
  val Trailer: Array[Byte] = Array(1, 0, 0, 0, 0, 0, 0, 0)

  /** Puts it in front of a key. */
  def putPrefix(key: Array[Byte], prefix: Int): Unit = {
    key(0) = (prefix >>> 24).toByte
    key(1) = (prefix >>> 16).toByte
    key(2) = (prefix >>> 8).toByte
    key(3) = prefix.toByte
  }

  /** Family and bucket of a key. */
  def prefixOf(key: Array[Byte]): Int =
    (key(0) << 24) | ((key(1) & 0xff) << 16) | ((key(2) & 0xff) << 8) | (key(3) & 0xff)

  /** Throws `CorruptException` unless the trailer at the end of a key is one of a run's. */
  def checkTrailer(key: Array[Byte], at: Int, damage: Damage): Unit =
    if (!Arrays.equals(key, at, at + TrailerLength, Trailer, 0, TrailerLength)) {
      val found = ByteBuffer.wrap(key).getLong(at)
      throw damage(s"expected plain puts with sequence number 0, found ${found.toHexString}")
    }

  /** What to seek for to find the first key of a bucket. */
  def seekKey(prefix: Int): Array[Byte] = ByteBuffer.allocate(PrefixLength).putInt(prefix).array

  def keyOf(family: Int, bucket: Int, key: Array[Byte]): Array[Byte] = ByteBuffer
    .allocate(PrefixLength + key.length)
    .putInt(prefix(family, bucket))
    .put(key)
    .array

  /** The tag in front of a value of so many bytes; throws `CorruptException` unless it is one of a run's. */
  def tagOf(value: Array[Byte], from: Int, length: Int, damage: Damage): Byte = {
    val op = if (length == 0) 0.toByte else value(from)
    if (!RecordOp.isKnown(op) || (!RecordOp.hasValue(op) && length != 1)) {
      throw damage(
        s"expected a value with tag 1 (PUT) or 3 (MERGE), or a bare 2 (TOMBSTONE), found $op"
      )
    }
    op
  }

  /**
   * The record of an entry, or the bare key of one that is removed.
   *
   * @param key       begins with the key as it is in a file
   * @param keyLength of that, without what stands behind it
   * @param value     has the value from `from`, the tag in front
   */
  def recordOf(
      key: Array[Byte],
      keyLength: Int,
      value: Array[Byte],
      from: Int,
      valueLength: Int
  ): Array[Byte] = {
    val own = keyLength - PrefixLength
    val keyStart = Record.varintSize(own)
    val record = new Array[Byte](keyStart + own + valueLength - 1)
    Record.putVarint(record, 0, own)
    System.arraycopy(key, PrefixLength, record, keyStart, own)
    System.arraycopy(value, from + 1, record, keyStart + own, valueLength - 1)
    record
  }

  def checkEntries(file: RunFile, found: Long, damage: Damage): Unit =
    if (found != file.entries) throw damage.mismatch("a number of entries of", file.entries, found)

  /** Throws unless both numbers have room in a key. */
  def checkPlace(family: Int, bucket: Int): Unit =
    if (family < 0 || family > MaxFamily || bucket < 0 || bucket > MaxBucket) {
      throw new InvalidException(
        s"A run can hold column families 0 to $MaxFamily and buckets 0 to $MaxBucket, it was given " +
          s"bucket $bucket of column family $family",
        "This is a defect of the caller; please report it."
      )
    }
}
