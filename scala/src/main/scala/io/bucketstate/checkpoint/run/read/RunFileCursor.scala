package io.bucketstate.checkpoint.run.read

import io.bucketstate.checkpoint.io.Damage
import io.bucketstate.checkpoint.records.RecordCursor
import io.bucketstate.checkpoint.run.RunFormat
import io.bucketstate.checkpoint.sst.{IndexWalk, SstBlocks, SstScan, SstValues}

/**
 * Walks over a file's entries. Reads nothing, not even the index, before it is asked for the first one. For
 * one thread.
 *
 * @param index    begins at the block that may have the first key
 * @param first    the first key wanted, as files of runs have it
 * @param last     the last prefix wanted, as an unsigned number
 * @param expected how many entries there must be, or -1 if that is not known
 * @param onClose  called once: until then the file must stay open
 */
private[run] final class RunFileCursor(
    blocks: SstBlocks,
    index: () => IndexWalk,
    first: Array[Byte],
    last: Int,
    expected: Long,
    damage: Damage,
    onClose: () => Unit
) extends RecordCursor {
  import RunFormat._

  private[this] var scan: SstScan = _
  private[this] var entries: SstValues = _ // of the current block
  private[this] var seen = 0L
  private[this] var ended = false
  private[this] var closed = false
  private[this] var prefixNow = 0
  private[this] var recordNow: Array[Byte] = _
  private[this] var opNow: Byte = 0

  def advance(): Boolean =
    !ended && {
      try {
        val found = toNext() && Integer.compareUnsigned(prefixNow, last) <= 0
        if (found) {
          readRecord()
          seen += 1
        } else finish()
        found
      } catch {
        case e: IndexOutOfBoundsException =>
          throw damage("the index or a data block cannot be decoded", e)
      }
    }

  def family: Int = familyOf(prefixNow)

  def bucket: Int = bucketOf(prefixNow)

  def record: Array[Byte] = recordNow

  def op: Byte = opNow

  def close(): Unit = if (!closed) {
    closed = true
    try letGo()
    finally onClose()
  }

  /** To the next entry that is not before the first wanted. */
  private def toNext(): Boolean = {
    var found = false
    if (scan == null) {
      scan = new SstScan(blocks, index(), last)
      openNext()
      // Only the first block can have others before it.
      found = entries != null && entries.seek(first, TrailerLength)
    }
    while (!found && entries != null) {
      found = entries.advance()
      if (!found) openNext()
    }
    if (found) readPrefix()
    found
  }

  private def openNext(): Unit = {
    val block = scan.next()
    entries = if (block == null) null else new SstValues(block)
  }

  private def readPrefix(): Unit = {
    val length = entries.keyLength - TrailerLength
    if (length < PrefixLength)
      throw damage(s"expected keys of 4 bytes or more, found one of $length")
    checkTrailer(entries.key, length, damage)
    prefixNow = prefixOf(entries.key)
  }

  private def readRecord(): Unit = {
    val array = entries.array
    val at = entries.valueAt
    val length = entries.valueLength
    opNow = tagOf(array, at, length, damage)
    recordNow = recordOf(entries.key, entries.keyLength - TrailerLength, array, at, length)
  }

  private def finish(): Unit = {
    letGo()
    if (expected >= 0 && seen != expected) throw damage.mismatch("entries", expected, seen)
  }

  private def letGo(): Unit = {
    ended = true
    recordNow = null
    scan = null
    entries = null
  }
}
