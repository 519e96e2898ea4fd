package io.bucketstate.record

import java.util.{Arrays => JArrays}

/**
 * Scratch space in which one record is put together: first the key, then, for a write, the value.
 * Reused for every call, so that a lookup allocates nothing.
 *
 * Use: [[keySpace]], write the key from [[RecordBuffer.KeyOffset]] on, [[keyDone]], and for a write
 * [[valueSpace]], write the value from [[keyEnd]] on, [[valueDone]]. Not thread-safe.
 */
final class RecordBuffer(assigner: BucketAssigner) {
  private[this] var space = new Array[Byte](512)
  private[this] var begin = 0
  private[this] var keyLimit = 0
  private[this] var limit = 0
  private[this] var slotHash = 0
  private[this] var bucketNumber = 0

  /** Where the key ends and a value starts. */
  def keyEnd: Int = keyLimit

  /** Bytes of the record up to the end of its key: what two records of the same key share. */
  def keyLength: Int = keyLimit - begin

  def hash: Int = slotHash

  /** Likewise, as buckets ask for it whose keys were chosen to collide. */
  private[bucketstate] def keyedHash: Int = KeyedHash.of(space, begin, keyLimit)

  def bucket: Int = bucketNumber

  /** Space for a key of at most `size` bytes. */
  def keySpace(size: Int): Array[Byte] = {
    val needed = RecordBuffer.KeyOffset + size
    if (needed > space.length) space = new Array[Byte](Math.max(needed, space.length * 2))
    space
  }

  /** The key lies from `KeyOffset` until `end`: puts its length in front and finds its bucket. */
  def keyDone(end: Int, bucketKey: BucketKey): Unit = {
    val length = end - RecordBuffer.KeyOffset
    begin = RecordBuffer.KeyOffset - Record.varintSize(length)
    Record.putVarint(space, begin, length)
    keyLimit = end
    limit = end
    assign(bucketKey.end(space, RecordBuffer.KeyOffset, end), end)
  }

  /** Takes the key of the record that lies in `source` from `offset` on, to find or place it. */
  def keyOf(source: Array[Byte], offset: Int, bucketKey: BucketKey): Unit = {
    val from = Record.keyStart(source, offset)
    copy(source, from, Record.keyEnd(source, offset) - from, bucketKey)
  }

  /** Takes a bare key. */
  def key(bytes: Array[Byte], bucketKey: BucketKey): Unit = copy(bytes, 0, bytes.length, bucketKey)

  private def copy(source: Array[Byte], from: Int, length: Int, bucketKey: BucketKey): Unit = {
    System.arraycopy(source, from, keySpace(length), RecordBuffer.KeyOffset, length)
    keyDone(RecordBuffer.KeyOffset + length, bucketKey)
  }

  private def assign(decidingEnd: Int, end: Int): Unit = {
    val whole = assigner.hash(space, RecordBuffer.KeyOffset, end)
    val deciding =
      if (decidingEnd == end) whole
      else assigner.hash(space, RecordBuffer.KeyOffset, decidingEnd)
    bucketNumber = assigner.bucket(deciding)
    slotHash = whole.toInt
  }

  /** Space for a value of at most `size` bytes behind the key, which stays. */
  def valueSpace(size: Int): Array[Byte] = spaceFrom(keyLimit, size)

  /**
   * Space for at most `size` bytes from `at` on; what lies before it stays. Throws `InvalidException` if no array has so
   * many.
   */
  def spaceFrom(at: Int, size: Int): Array[Byte] = {
    val needed = at.toLong + size
    if (needed > space.length) {
      if (needed > RecordBuffer.MostBytes)
        throw Record.tooLong("a column family", needed, Record.MaxLength)
      val room = Math.min(Math.max(needed, space.length * 2L), RecordBuffer.MostBytes)
      space = JArrays.copyOf(space, room.toInt)
    }
    space
  }

  def valueDone(end: Int): Unit = limit = end

  /** A copy of key and value. */
  def toRecord: Array[Byte] = JArrays.copyOfRange(space, begin, limit)

  /** A copy of the key alone: a tombstone's record. */
  def toKeyRecord: Array[Byte] = JArrays.copyOfRange(space, begin, keyLimit)

  /** A copy of the value alone. */
  def toValue: Array[Byte] = JArrays.copyOfRange(space, keyLimit, limit)

  /** Bytes of the key alone, without its length in front. */
  def keyBytes: Int = keyLimit - RecordBuffer.KeyOffset

  /** Copies the key alone, without its length in front. */
  def copyKey(target: Array[Byte], at: Int): Unit =
    System.arraycopy(space, RecordBuffer.KeyOffset, target, at, keyBytes)

  /** Whether `record` has the key in this buffer. */
  def sameKey(record: Array[Byte]): Boolean = sameKey(record, 0, record.length)

  /** Whether the record of so many bytes at `offset` has the key in this buffer. */
  def sameKey(bytes: Array[Byte], offset: Int, length: Int): Boolean = {
    val wanted = keyLimit - begin
    length >= wanted && JArrays.equals(bytes, offset, offset + wanted, space, begin, keyLimit)
  }
}

object RecordBuffer {

  /** Keys are written from here on, which leaves room in front for any length. */
  val KeyOffset = 5

  /** What an array can hold in every JVM. */
  private final val MostBytes = Int.MaxValue - 8L
}
