package io.bucketstate.checkpoint.sst

import java.util.ArrayDeque

import io.bucketstate.checkpoint.io.ByteSlice
import io.bucketstate.error.CorruptException

/**
 * Data blocks one after the other. Several that lie side by side are read at once, but none that the index
 * says can have nothing that is wanted; so there is never more of the file in memory than that, however
 * large it is. For one thread.
 *
 * @param index stands before the first block wanted
 * @param stop  the last prefix wanted, as an unsigned number
 */
private[checkpoint] final class SstScan(blocks: SstBlocks, index: IndexWalk, stop: Int) {
  import SstScan._

  private[this] val ahead = new ArrayDeque[SstHandle] // read, not opened
  private[this] var stored: Array[Byte] = _
  private[this] var storedAt = 0L // in the file
  private[this] var raw = new Array[Byte](0)
  private[this] var upcoming: SstHandle = _ // in the index, not read; null if there is none
  private[this] var started = false
  private[this] var readBytes = FirstReadBytes

  /** The next block, good until the one after it; null if there is none. */
  def next(): ByteSlice = {
    if (ahead.isEmpty) fill()
    val at = ahead.poll()
    if (at == null) null
    else {
      val block =
        try blocks.open(stored, (at.offset - storedAt).toInt, at, Part, raw)
        catch { case e: CorruptException => blocks.readAgain(at, Part, e) }
      // What was made for a large block serves small ones too.
      if ((block.array ne stored) && block.array.length > raw.length) raw = block.array
      block
    }
  }

  private def fill(): Unit = {
    if (!started) {
      started = true
      upcoming = if (index.isValid) index.place else null
    }
    if (upcoming != null) {
      val first = upcoming
      var last = first
      var more = true
      while (more) {
        last = upcoming
        ahead.add(last)
        // The key in the index is not less than any of its block, and less than all behind it.
        upcoming = if (index.prefixIsUpTo(stop) && index.advance()) index.place else null
        more = upcoming != null && upcoming.offset == endOf(last) &&
          endOf(upcoming) - first.offset <= readBytes
      }
      readBytes = math.min(ReadBytes, readBytes * 4)
      stored =
        try blocks.readSome(first, last, Part)
        catch { case e: CorruptException => blocks.readSomeAgain(first, last, Part, e) }
      storedAt = first.offset
    } else stored = null
  }
}

private object SstScan {
  private val Part = "data block"

  /** Enough that a read's own cost does not matter, little enough that hundreds of files can be merged. */
  private val ReadBytes = 256L * 1024

  /** Many scans end soon. */
  private val FirstReadBytes = 16L * 1024

  private def endOf(at: SstHandle): Long = at.offset + at.size + SstHandle.TrailerBytes
}
