package io.bucketstate.checkpoint.changelog

import java.io.OutputStream

import io.bucketstate.checkpoint.io.ByteSlice

/**
 * Bytes in a list of arrays, because a changelog may be longer than an array can be. The arrays are
 * kept from file to file, up to a limit, so that a batch that was large once does not hold memory for
 * ever.
 */
private[checkpoint] final class ChunkedBuffer {
  import ChunkedBuffer._

  private val spare = scala.collection.mutable.ArrayDeque.empty[Array[Byte]]
  private val full = scala.collection.mutable.ArrayBuffer.empty[(Array[Byte], Int)]
  private var lengthOfFull = 0L

  /** Where the next bytes go, once [[reserve]] made room for them. */
  var array: Array[Byte] = new Array[Byte](ChunkBytes)
  var position: Int = 0

  def length: Long = lengthOfFull + position

  /** Makes `array` hold at least `count` more bytes behind `position`. */
  def reserve(count: Int): Unit = if (array.length - position < count) {
    close()
    array =
      if (count > ChunkBytes) new Array[Byte](count)
      else if (spare.nonEmpty) spare.removeLast()
      else new Array[Byte](ChunkBytes)
    position = 0
  }

  def put(source: Array[Byte], count: Int): Unit = {
    reserve(count)
    System.arraycopy(source, 0, array, position, count)
    position += count
  }

  /** Some bytes that were put, or reserved, at once. */
  def slice(from: Long, count: Int): ByteSlice = {
    var (start, i) = (0L, 0)
    while (i < full.size && start + full(i)._2 <= from) {
      start += full(i)._2
      i += 1
    }
    new ByteSlice(if (i < full.size) full(i)._1 else array, (from - start).toInt, count)
  }

  def writeTo(out: OutputStream): Unit = {
    full.foreach { case (chunk, used) => out.write(chunk, 0, used) }
    out.write(array, 0, position)
  }

  def reset(): Unit = {
    (full.map(_._1) :+ array).foreach { chunk =>
      if (chunk.length == ChunkBytes && spare.size < MaxSpare) spare.append(chunk)
    }
    full.clear()
    lengthOfFull = 0
    array = if (spare.isEmpty) new Array[Byte](ChunkBytes) else spare.removeLast()
    position = 0
  }

  private def close(): Unit = {
    full.append((array, position))
    lengthOfFull += position
  }
}

private[checkpoint] object ChunkedBuffer {
  val ChunkBytes: Int = 256 * 1024
  val MaxSpare = 32
}
