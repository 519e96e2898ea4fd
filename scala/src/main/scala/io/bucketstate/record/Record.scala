package io.bucketstate.record

import java.lang.Iterable
import java.util.Arrays

import io.bucketstate.error.InvalidException

/**
 * Layout of a record, the one byte array that holds a key and its value:
 *
 * {{{ varint(key length) | key bytes | value bytes }}}
 *
 * The varint is unsigned LEB128. Because the length is part of the prefix, two records have the same
 * key exactly when one starts with the other's first `keyEnd` bytes: a key is compared with one
 * vectorised comparison and no decoding.
 */
object Record {
  private final val LongBytes = 8

  /**
   * A key and its value take less, also a value that was made by appending: so every length of what files are made of
   * fits an Int.
   */
  final val MaxLength: Int = 1 << 30

  /** @param family that the key is of, in the words of whoever has it */
  def tooLong(family: String, length: Long, most: Int): InvalidException = new InvalidException(
    s"A key of $family and its values take $length bytes, at most $most can be kept",
    "Split them, for example over several keys or a map state, or let them expire or be removed in time."
  )

  /** Bytes that `varint(n)` takes, 1 to 5. */
  def varintSize(n: Int): Int =
    if (n < (1 << 7)) 1
    else if (n < (1 << 14)) 2
    else if (n < (1 << 21)) 3
    else if (n < (1 << 28)) 4
    else 5

  /** Writes `varint(n)`, n >= 0, at `offset`; returns the offset behind it. */
  def putVarint(target: Array[Byte], offset: Int, n: Int): Int = {
    var i = offset
    var rest = n
    while (rest >= 0x80) {
      target(i) = (rest | 0x80).toByte
      rest >>>= 7
      i += 1
    }
    target(i) = rest.toByte
    i + 1
  }

  /** The varint at `offset`, or -1 if it does not end before `end` or is none. */
  def varint(source: Array[Byte], offset: Int, end: Int): Int = {
    var i = offset
    var shift = 0
    var n = 0
    while (i < end && source(i) < 0 && shift < 28) {
      n |= (source(i) & 0x7f) << shift
      shift += 7
      i += 1
    }
    // The fifth byte has room for 3 bits of an Int that is not negative.
    if (i >= end || source(i) < 0 || (shift == 28 && source(i) > 7)) -1
    else n | (source(i) << shift)
  }

  /** Where the key starts in a record that begins at `offset`: behind its length. */
  def keyStart(source: Array[Byte], offset: Int = 0): Int = {
    var i = offset
    while (source(i) < 0) i += 1
    i + 1
  }

  /** Where the key of a record that begins at `offset` ends, and its value starts. */
  def keyEnd(source: Array[Byte], offset: Int = 0): Int = {
    var i = offset
    var shift = 0
    var length = 0
    while (source(i) < 0) {
      length |= (source(i) & 0x7f) << shift
      shift += 7
      i += 1
    }
    i + 1 + (length | (source(i) << shift))
  }

  /** The 8 bytes of the key behind the first `skipped`; a key that has less counts as followed by zeros. */
  def leadingBytes(record: Array[Byte], skipped: Int): Long = {
    val from = keyStart(record) + skipped
    val bytes = Math.min(LongBytes, keyEnd(record) - from)
    var lead = 0L
    var i = 0
    while (i < bytes) {
      lead = (lead << 8) | (record(from + i) & 0xffL)
      i += 1
    }
    if (bytes == 0) 0L else lead << (8 * (LongBytes - bytes))
  }

  /** Puts records in the byte order of their keys, unsigned and lexicographic. */
  def compareKeys(a: Array[Byte], b: Array[Byte]): Int =
    Arrays.compareUnsigned(a, keyStart(a), keyEnd(a), b, keyStart(b), keyEnd(b))

  /** Likewise, of a record's key and one for itself. */
  def compareKey(record: Array[Byte], key: Array[Byte]): Int =
    Arrays.compareUnsigned(record, keyStart(record), keyEnd(record), key, 0, key.length)

  /** A record from a key and a value; a tombstone's record has an empty value. */
  def of(key: Array[Byte], value: Array[Byte]): Array[Byte] = {
    val start = varintSize(key.length)
    val record = new Array[Byte](start + key.length + value.length)
    putVarint(record, 0, key.length)
    System.arraycopy(key, 0, record, start, key.length)
    System.arraycopy(value, 0, record, start + key.length, value.length)
    record
  }

  /** The key of both with the value of one and, behind it, that of the other. */
  def append(record: Array[Byte], other: Array[Byte]): Array[Byte] = {
    val from = keyEnd(other)
    val joined = Arrays.copyOf(record, Math.addExact(record.length, other.length - from))
    System.arraycopy(other, from, joined, record.length, other.length - from)
    joined
  }

  /** Bytes of a key with all these values: more than an array can hold, it may be. */
  def joinedLength(records: Iterable[Array[Byte]]): Long = {
    val all = records.iterator()
    val first = all.next()
    val from = keyEnd(first)
    var length = first.length.toLong
    while (all.hasNext) length += all.next().length - from
    length
  }

  /** The key that all have, with all their values one behind the other. */
  def join(records: Iterable[Array[Byte]]): Array[Byte] = {
    val all = records.iterator()
    val first = all.next()
    if (!all.hasNext) first
    else {
      val from = keyEnd(first)
      val length = joinedLength(records)
      if (length > MaxLength) throw tooLong("a column family", length, MaxLength)
      val joined = Arrays.copyOf(first, length.toInt)
      var at = first.length
      while (all.hasNext) {
        val record = all.next()
        System.arraycopy(record, from, joined, at, record.length - from)
        at += record.length - from
      }
      joined
    }
  }
}
