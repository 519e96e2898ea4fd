package io.bucketstate.record

import java.security.SecureRandom

import com.google.common.hash.{HashFunction, Hashing}

/**
 * A hash that nobody outside of this process can compute: whoever chooses keys cannot choose where they go. SipHash-2-4, with
 * a key that is drawn once. No file depends on it.
 */
private[bucketstate] object KeyedHash {
  private[this] val random = new SecureRandom
  private[this] val function: HashFunction =
    Hashing.sipHash24(random.nextLong(), random.nextLong())

  /** A number that nobody outside of this process can know. */
  val secret: Int = random.nextInt()

  /** The hash of bytes that begin with a key and its length, as records do, up to the end of the key. */
  def of(bytes: Array[Byte], from: Int, keyEnd: Int): Int =
    function.hashBytes(bytes, from, keyEnd - from).asInt

  /** The hash of the key of a record. */
  def ofRecord(record: Array[Byte]): Int = of(record, 0, Record.keyEnd(record))
}
