package io.bucketstate.checkpoint.changelog

import java.nio.charset.StandardCharsets.US_ASCII

import io.bucketstate.checkpoint.io.BlockCodec
import io.bucketstate.record.{FamilyChanges, FamilyDescriptor, Record, TimeBuckets}

/**
 * The layout of a changelog, format versions 1 and 2. All numbers are little-endian and unsigned unless said
 * otherwise; checksums are CRC32C (Castagnoli); `docs/format.md` works an example byte by byte.
 *
 * {{{
 *   file    := header block* footer trailer            nothing between them, nothing behind them
 *   string  := length u16 | UTF-8 bytes
 *
 *   header  := "BKTSTLOG" | format version u16 | header length u16 (this checksum included)
 *              | codec u8 | 0 u8 | 0 u16 | writer id 16 bytes | store version i64
 *              | number of buckets u32 | checkpoint id string | base checkpoint id string
 *              | hash function string | crc u32 (of the header up to here)
 *
 *   block   := stored bytes: the raw bytes compressed with the block's codec
 *   raw     := record*
 *   record  := op u8 (1 PUT, 2 REMOVE, 3 MERGE) | varint(length) | body (so many bytes)
 *   body    := varint(key length) | key | value (a REMOVE has none)
 *   varint  := unsigned LEB128, at most 5 bytes, less than 2^31
 *
 *   footer  := count u32 | family* | next family id u32 | count u32 | entry*
 *   family  := id u32 | flags u8 (1 internal, 2 timed, 4 not counted) | name string | key encoding string
 *              | value encoding string | key count u64 unless it was not counted | times if it is timed
 *   times   := newest u32 | horizon u32 | untimed u32 | untimed keys u64 | count u32 | bucket*
 *   bucket  := start u32 | key count u64              starts in seconds since 1970, ffffffff for none
 *   entry   := family u32 | first bucket u32 | last bucket u32 | offset u64 | stored length u32
 *              | raw length u32 | record count u32 | codec u8 | crc u32 (of the stored bytes)
 *
 *   trailer := footer offset u64 | footer length u32 | footer crc u32 | header crc u32
 *              | crc u32 (of the trailer up to here) | "BKTSTEND"
 * }}}
 *
 * Version 2 is what a store has that has a timed family, and version 1 what all others have.
 *
 * What the parts promise each other: every byte of the file is under one of the checksums or is one
 * of the two magic words; blocks come in the order of their entries, without gaps, by family and then
 * by bucket; all changes of a bucket are in one block, unless the bucket has more than 32 MiB, when it
 * has several blocks of its own.
 */
private[checkpoint] object ChangelogFormat {
  val Magic: Array[Byte] = "BKTSTLOG".getBytes(US_ASCII)
  val EndMagic: Array[Byte] = "BKTSTEND".getBytes(US_ASCII)

  /** The format version of a store none of whose families is timed. */
  val Plain = 1

  /** The format version of a store that has a timed family; the newest there is. */
  val Timed = 2

  /** One read of so many bytes holds any header; the writer refuses to make a longer one. */
  val MaxHeaderLength = 512
  val TrailerLength = 32
  val BlockEntryLength = 37
  val MinFamilyLength = 11
  val TimeBucketLength = 12

  /** Neighbouring buckets share a block until it has about so many raw bytes. */
  val BlockBytes: Int = 64 * 1024

  /** A bucket with more raw bytes is split. */
  val SplitBytes: Int = 32 * 1024 * 1024

  /** The removal of the empty key has so many bytes: operation, length and the key's length. */
  val MinRecordLength = 3

  /** A bucket is split before a record would take its block past [[SplitBytes]]; one may be as long as any. */
  val MaxBlockLength: Int = Record.MaxLength + SplitBytes + 16
}

/**
 * @param keyCount keys the family holds at the changelog's version, None if nobody has counted them; never None where it
 *                 is timed
 * @param times    the same by time bucket, where it is timed
 */
final case class ChangelogFamily(
    descriptor: FamilyDescriptor,
    keyCount: Option[Long],
    times: Option[TimeBuckets] = None
)

object ChangelogFamily {

  /** A family as a version leaves it that changed it. */
  def of(changes: FamilyChanges): ChangelogFamily =
    ChangelogFamily(changes.descriptor, changes.keyCount, changes.times)

  /** The time buckets of those whose records have times, by number. */
  def timesOf(families: Iterable[ChangelogFamily]): Map[Int, TimeBuckets] =
    families.iterator.flatMap(f => f.times.map(f.descriptor.id -> _)).toMap
}

/** Where the changes of some neighbouring buckets of one family are. */
final case class ChangelogBlock(
    family: Int,
    firstBucket: Int,
    lastBucket: Int,
    offset: Long,
    storedLength: Int,
    rawLength: Int,
    records: Int,
    codec: BlockCodec,
    crc: Int
) {
  def holds(bucket: Int): Boolean = firstBucket <= bucket && bucket <= lastBucket

  /** Whether a writer can have made it: so nonsense is never a length to allocate. */
  def isPossible: Boolean =
    records > 0 && rawLength >= ChangelogFormat.MinRecordLength * records.toLong &&
      rawLength <= ChangelogFormat.MaxBlockLength && rawLength <= codec.mostRaw(storedLength) &&
      (if (codec == BlockCodec.Raw) storedLength == rawLength else storedLength < rawLength)
}
