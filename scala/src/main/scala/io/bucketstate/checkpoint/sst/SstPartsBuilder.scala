package io.bucketstate.checkpoint.sst

import java.util.Arrays

import scala.collection.mutable.ArrayBuffer

/**
 * Puts a file's index and filter together, in parts for the same spans of keys: a key's part of the one has the number of
 * its part of the other. They are in memory until all data was written. For one thread.
 *
 * @param bloomBits of filter for each key, 0 for no filter
 */
private[checkpoint] final class SstPartsBuilder(bloomBits: Int) {
  import SstPartsBuilder._

  private[this] val index = new SstBlockBuilder(restartInterval = 1, valueLengths = false)
  private[this] val filter = new SstFilter.Builder(bloomBits)
  private[this] val parts = ArrayBuffer.empty[Part]
  private[this] var blocks = 0 // of the part that is being filled
  private[this] var filtered = 0L // keys

  def isFilterWanted: Boolean = filter.isWanted

  /** @param hash of a key of the block that comes next */
  def addKey(hash: Long): Unit = filter.add(hash)

  /**
   * @param separator a key that is not less than the block's last, and less than all to come
   * @param isLast    nothing comes behind it
   */
  def addBlock(separator: Array[Byte], length: Int, place: SstHandle, isLast: Boolean): Unit = {
    index.add(separator, length, 0, 0)
    index.append(place)
    blocks += 1
    val isFull = filter.length >= PartBytes || (index.length >= PartBytes && blocks >= LeastBlocks)
    if (isFull || isLast) endPart(Arrays.copyOf(separator, length))
  }

  /** Writes all that there is. */
  def write(out: SstOutput): Written = {
    val filters = if (filter.isWanted) store(out, _.filter) else NoParts
    Written(filters, store(out, _.index), parts.size, filtered)
  }

  private def endPart(lastKey: Array[Byte]): Unit = {
    index.finish()
    val ofIndex = Arrays.copyOf(index.array, index.length + SstHandle.TrailerBytes)
    val ofFilter = if (filter.isWanted) filter.build(SstHandle.TrailerBytes) else null
    parts += new Part(lastKey, ofIndex, ofFilter)
    filtered += filter.entries
    index.reset()
    filter.reset()
    blocks = 0
  }

  private def store(out: SstOutput, bytesOf: Part => Array[Byte]): Stored = {
    val list = new SstBlockBuilder(restartInterval = 1, valueLengths = false)
    var place: SstHandle = null
    var bytes = 0L
    parts.foreach { part =>
      val stored = bytesOf(part)
      place = out.store(stored, stored.length - SstHandle.TrailerBytes)
      bytes += place.size
      list.add(part.lastKey, part.lastKey.length, 0, 0)
      list.append(place)
    }
    if (parts.size == 1) Stored(SstRoot(place, isParted = false), bytes, 0L)
    else {
      list.finish()
      place = out.store(list.array, list.length)
      Stored(SstRoot(place, isParted = true), bytes + place.size, place.size)
    }
  }
}

private[checkpoint] object SstPartsBuilder {

  /** About what a look-up reads of each, if it is not in memory: it costs little more to read than a few bytes. */
  private final val PartBytes = 4096

  /** Where keys are long, the list of parts, which stays in memory, would else be as large as the index. */
  private final val LeastBlocks = 16

  /** Both with room for what stands behind a block. */
  private final class Part(
      val lastKey: Array[Byte],
      val index: Array[Byte],
      val filter: Array[Byte]
  )

  /**
   * @param bytes     of all
   * @param listBytes of these what the list of the parts takes, 0 if there is none
   */
  final case class Stored(root: SstRoot, bytes: Long, listBytes: Long)

  private val NoParts = Stored(null, 0L, 0L)

  /**
   * @param filter   has no root if there is none
   * @param filtered how many keys the filter has
   */
  final case class Written(filter: Stored, index: Stored, parts: Int, filtered: Long)
}
