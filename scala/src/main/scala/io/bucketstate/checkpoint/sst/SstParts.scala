package io.bucketstate.checkpoint.sst

import java.util.Arrays

import scala.collection.mutable.ArrayBuffer

import io.bucketstate.checkpoint.io.ByteSlice

/** An index or a filter: where it lies, or, if it is in parts, the list of these. */
private[checkpoint] final case class SstRoot(at: SstHandle, isParted: Boolean)

/**
 * Where the parts of an index or of a filter lie, each of which is for a span of keys. A small file's have one, for all
 * keys. Immutable.
 *
 * @param lastKeys of each part one that is not less than its last, and less than the next one's first; empty if there
 *                 is one part alone
 */
private[checkpoint] final class SstParts private (
    lastKeys: Array[Array[Byte]],
    places: Array[SstHandle]
) {
  import SstParts._

  def count: Int = places.length

  /** The number of the part that a key belongs to; as many as there are if it is behind all. */
  def of(key: Array[Byte]): Int = {
    var low = 0
    var high = lastKeys.length
    while (low < high) {
      val middle = (low + high) >>> 1
      if (Arrays.compareUnsigned(lastKeys(middle), key) < 0) low = middle + 1 else high = middle
    }
    low
  }

  /** @param number any, if there is one part alone */
  def place(number: Int): SstHandle = places(if (places.length == 1) 0 else number)

  /** Other parts, if they are for the spans of these, or it is one alone; else none. */
  def along(parts: SstParts): SstParts =
    if (parts.count == 1) parts
    else if (parts.hasSpans(lastKeys)) new SstParts(lastKeys, parts.all)
    else SstParts.None

  /** Heap that it takes, with the places of other parts for the same spans, in bytes. */
  val heapBytes: Long = {
    var bytes = 0L
    var i = 0
    while (i < lastKeys.length) {
      bytes += lastKeys(i).length + PartBytes
      i += 1
    }
    bytes
  }

  private def all: Array[SstHandle] = places

  private def hasSpans(keys: Array[Array[Byte]]): Boolean =
    keys.length == lastKeys.length && keys.indices.forall(i => Arrays.equals(keys(i), lastKeys(i)))
}

private[checkpoint] object SstParts {

  /** What a part takes besides its key's bytes: an array, two places, and what refers to them. */
  private final val PartBytes = 92L

  /** So many times as long as their block may keys be that have much in common. */
  private final val MostGrowth = 64L

  private val NoKeys = new Array[Array[Byte]](0)

  val None: SstParts = new SstParts(NoKeys, Array.empty)

  /** A list of parts, or the one part that there is. */
  def read(blocks: SstBlocks, root: SstRoot, part: String): SstParts =
    if (root.isParted) of(blocks.read(root.at, part)) else new SstParts(NoKeys, Array(root.at))

  /** @param block the list of the parts, which is like a part of an index */
  private def of(block: ByteSlice): SstParts = {
    val keys = ArrayBuffer.empty[Array[Byte]]
    val places = ArrayBuffer.empty[SstHandle]
    val entries = new SstPlaces(block)
    var left = MostGrowth * block.length // what was verified may be nonsense all the same
    while (left >= 0 && entries.advance()) {
      keys += Arrays.copyOf(entries.key, entries.keyLength)
      places += entries.place
      left -= entries.keyLength
    }
    if (places.isEmpty || left < 0)
      throw new IndexOutOfBoundsException(s"${places.size} parts in ${block.length} bytes")
    new SstParts(keys.toArray, places.toArray)
  }
}
