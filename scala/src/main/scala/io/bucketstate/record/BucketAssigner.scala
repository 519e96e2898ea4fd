package io.bucketstate.record

import java.util.Arrays

import org.apache.spark.sql.catalyst.expressions.XXH64
import org.apache.spark.unsafe.Platform

/** Which part of an encoded key decides its bucket. */
sealed abstract class BucketKey(val name: String) {

  /** Where the deciding part ends, given where the key starts and ends. */
  def end(bytes: Array[Byte], keyStart: Int, keyEnd: Int): Int

  /**
   * The bucket of all keys that start with a prefix to scan by, which is all of the deciding part; -1 if they lie in
   * several.
   */
  def ofPrefix(prefix: Array[Byte], assigner: BucketAssigner): Int =
    assigner.bucket(assigner.hash(prefix, 0, prefix.length))

  /** The bucket of all keys between these, or -1 if they may lie in several; null is no bound. */
  def ofRange(from: Array[Byte], until: Array[Byte], assigner: BucketAssigner): Int = -1
}

object BucketKey {

  /** The whole key: keys spread evenly. */
  case object Whole extends BucketKey("whole") {
    override def ofPrefix(prefix: Array[Byte], assigner: BucketAssigner): Int = -1

    override def end(bytes: Array[Byte], keyStart: Int, keyEnd: Int): Int = keyEnd
  }

  /**
   * A prefix with its length in front (native-endian int), as Spark's `PrefixKeyScanStateEncoder`
   * lays it out: all keys of a prefix share a bucket. Of a key that is not laid out so, all of it decides.
   */
  case object LengthPrefixed extends BucketKey("prefix") {
    override def end(bytes: Array[Byte], keyStart: Int, keyEnd: Int): Int = {
      val most = keyEnd - keyStart - 4
      // Read without bounds: a length in a file may be any number.
      val length =
        if (most < 0) -1
        else Platform.getInt(bytes, Platform.BYTE_ARRAY_OFFSET.toLong + keyStart)
      if (length < 0 || length > most) keyEnd else keyStart + 4 + length
    }
  }

  /**
   * All but the 8 bytes of a timestamp at the end, as Spark's `TimestampAsPostfixKeyStateEncoder` lays
   * keys out: all timestamps of a key share a bucket.
   */
  case object BeforeTimestamp extends BucketKey("before-timestamp") {
    override def end(bytes: Array[Byte], keyStart: Int, keyEnd: Int): Int =
      Math.max(keyStart, keyEnd - 8)

    override def ofRange(
        from: Array[Byte],
        until: Array[Byte],
        assigner: BucketAssigner
    ): Int =
      if (from == null || until == null || from.length != until.length || from.length < 8) -1
      else {
        val deciding = from.length - 8
        if (!Arrays.equals(from, 0, deciding, until, 0, deciding)) -1
        else assigner.bucket(assigner.hash(from, 0, deciding))
      }
  }
}

/**
 * Key bytes to bucket: `bucket = upper 32 bits of XXH64(deciding part) mod numBuckets`, unsigned.
 * The lower 32 bits place an entry inside its bucket, so the two choices are independent.
 *
 * Pure and thread-safe. The function's name is written into every changelog, so that another one can
 * come later without old checkpoints being misread.
 */
final class BucketAssigner(val numBuckets: Int) {
  private[this] val isPowerOfTwo = Integer.bitCount(numBuckets) == 1

  /** 64-bit hash of a range of bytes. */
  def hash(bytes: Array[Byte], from: Int, until: Int): Long =
    XXH64.hashUnsafeBytes(bytes, Platform.BYTE_ARRAY_OFFSET.toLong + from, until - from, 0L)

  def bucket(hash: Long): Int = {
    val upper = (hash >>> 32).toInt
    // The same number: a division takes as long as half a look-up.
    if (isPowerOfTwo) upper & (numBuckets - 1)
    else Integer.remainderUnsigned(upper, numBuckets)
  }
}

object BucketAssigner {

  /** The name of the hash function in changelogs and manifests: XXH64 with seed 0. */
  val HashName = "xxh64"
}
