package io.bucketstate.checkpoint.sst

import java.nio.charset.StandardCharsets.US_ASCII
import java.util.HashMap

import io.bucketstate.checkpoint.io.ByteSlice

/** Entries with the length of their value in front: of data blocks, and of those that describe the file. */
private[checkpoint] final class SstValues(block: ByteSlice) extends SstEntries(block) {
  private[this] var lengthNow = 0
  private[this] var atNow = 0

  /** The value lies in it, from `valueAt`. */
  def array: Array[Byte] = block.array

  def valueAt: Int = atNow

  def valueLength: Int = lengthNow

  /** Not copied. */
  def value: ByteSlice = new ByteSlice(array, valueAt, valueLength)

  protected def readValueLength(): Unit = lengthNow = source.length()

  protected def readValue(sharesKey: Boolean): Unit = {
    atNow = source.position
    source.skip(lengthNow)
  }
}

private[checkpoint] object SstValues {

  /** All of a block whose keys are names. */
  def byName(block: ByteSlice): HashMap[String, ByteSlice] = {
    val entries = new SstValues(block)
    val all = new HashMap[String, ByteSlice]
    while (entries.advance())
      all.put(new String(entries.key, 0, entries.keyLength, US_ASCII), entries.value)
    all
  }
}
