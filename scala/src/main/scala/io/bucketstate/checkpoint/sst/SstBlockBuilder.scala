package io.bucketstate.checkpoint.sst

import java.util.Arrays

import io.bucketstate.checkpoint.io.LittleEndian
import io.bucketstate.record.Record

/**
 * Puts entries into a block, as [[SstEntries]] reads them; block after block in the same array. For one
 * thread.
 *
 * @param restartInterval entries from one whole key to the next
 * @param valueLengths    whether the lengths of values stand in front of the keys; in the index they do not
 */
private[checkpoint] final class SstBlockBuilder(
    restartInterval: Int,
    valueLengths: Boolean = true
) {
  private[this] var bytes = new Array[Byte](4096)
  private[this] var at = 0
  private[this] var restarts = new Array[Int](64)
  private[this] var restartCount = 0
  private[this] var sinceRestart = 0
  private[this] var finished = false

  def isEmpty: Boolean = restartCount == 0

  /** Bytes that it has once it is finished. */
  def length: Int = if (finished) at else at + 4 * restartCount + 4

  /** The block is at its front once it is finished; the array has room for what stands behind a block. */
  def array: Array[Byte] = bytes

  /**
   * Begins an entry, whose value has to be appended at once.
   *
   * @param common so many bytes at the front of the key are those of the key before
   */
  def add(key: Array[Byte], keyLength: Int, common: Int, valueLength: Int): Unit = {
    var shared = common
    if (restartCount == 0 || sinceRestart == restartInterval) {
      shared = 0
      restart()
    }
    sinceRestart += 1
    val own = keyLength - shared
    room(MaxLengths + own.toLong + valueLength)
    at = Record.putVarint(bytes, at, shared)
    at = Record.putVarint(bytes, at, own)
    if (valueLengths) at = Record.putVarint(bytes, at, valueLength)
    System.arraycopy(key, shared, bytes, at, own)
    at += own
  }

  /** Within the length of the value that was announced, as the others. */
  def append(b: Byte): Unit = {
    bytes(at) = b
    at += 1
  }

  def append(source: Array[Byte], from: Int, count: Int): Unit = {
    System.arraycopy(source, from, bytes, at, count)
    at += count
  }

  def append(place: SstHandle): Unit = at = place.write(bytes, at)

  /** Adds an entry that has nothing in common with the one before. */
  def add(key: Array[Byte], value: Array[Byte]): Unit = {
    add(key, key.length, 0, value.length)
    append(value, 0, value.length)
  }

  /** Nothing can be added behind this, until `reset`. */
  def finish(): Unit = {
    room(SstHandle.TrailerBytes.toLong)
    var i = 0
    while (i < restartCount) {
      putInt(restarts(i))
      i += 1
    }
    putInt(restartCount)
    finished = true
  }

  def reset(): Unit = {
    at = 0
    restartCount = 0
    sinceRestart = 0
    finished = false
  }

  private def restart(): Unit = {
    if (restartCount == restarts.length) restarts = Arrays.copyOf(restarts, 2 * restartCount)
    restarts(restartCount) = at
    restartCount += 1
    sinceRestart = 0
  }

  private def putInt(n: Int): Unit = {
    LittleEndian.putInt(bytes, at, n)
    at += 4
  }

  /** For so many bytes, and the restarts. */
  private def room(count: Long): Unit = {
    val needed = length + count
    if (needed > bytes.length)
      bytes = Arrays.copyOf(bytes, math.max(math.toIntExact(needed), doubled(bytes.length)))
  }

  private def doubled(n: Int): Int = math.min(2L * n, Int.MaxValue - 64L).toInt

  /** What three lengths take, or a place, and a restart. */
  private[this] final val MaxLengths = 40
}
