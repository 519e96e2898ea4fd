package io.bucketstate.table

import java.util.{Arrays => JArrays}

import scala.collection.mutable

/**
 * What settled in one bucket from versions above the floor: a bare record does not tell its version, and a key
 * that is gone leaves nothing behind in a whole bucket. Takes eight bytes for a key that was written, and the
 * keys themselves of removals. The writer's own.
 */
private[table] final class DirtyKeys {
  import DirtyKeys._

  private[this] var written = new Array[Long](FirstLength) // hash above, version below
  private[this] var count = 0
  private[this] var isSorted = true
  private[this] var removals = mutable.ArrayBuffer.empty[Entry] // oldest first
  private[this] var most = FirstRemovals // kept before it is looked which are needed
  private[this] var unknownUntil = Int.MinValue

  /**
   * Remembers that a key was written.
   *
   * @param floor what is not above it need not be remembered
   */
  def addWritten(hash: Int, version: Int, floor: Int): Unit = {
    if (count == written.length) makeRoom(floor)
    written(count) = pair(hash, version)
    count += 1
    isSorted = false
  }

  /**
   * Remembers that a key was removed. Where more was removed than is there, it is not worth its memory to know
   * what.
   *
   * @param floor what is not above it need not be remembered
   * @param keys  that the bucket holds
   */
  def addRemoval(entry: Entry, floor: Int, keys: Int): Unit = {
    if (removals.length >= most) {
      removals = removals.filter(_.version > floor)
      if (removals.length > Math.max(keys, FirstRemovals)) {
        unknownUntil = removals.last.version
        removals = mutable.ArrayBuffer.empty
      }
      most = Math.max(FirstRemovals, removals.length * 2)
    }
    removals += entry
  }

  /** Whether what is above the floor is known. */
  def isKnown(floor: Int): Boolean = unknownUntil <= floor

  /** Forgets what the floor has passed, and makes [[isWritten]] ready. */
  def forgetUpTo(floor: Int): Unit = {
    keepAbove(floor)
    removals = removals.filter(_.version > floor)
  }

  /** Whether some key of that hash was written above the floor; after `forgetUpTo`. */
  def isWritten(hash: Int): Boolean = {
    val at = JArrays.binarySearch(written, 0, count, pair(hash, 0))
    at >= 0 || (-at - 1 < count && (written(-at - 1) >> 32).toInt == hash)
  }

  /** The removals above the floor, oldest first; they are forgotten. */
  def takeRemovals(): Seq[Entry] = {
    val taken = removals
    removals = mutable.ArrayBuffer.empty
    taken.toSeq
  }

  def heap: Long = written.length * 8L + removals.length * RemovalHeap

  private def makeRoom(floor: Int): Unit = {
    keepAbove(floor)
    if (count > written.length / 2) written = JArrays.copyOf(written, written.length * 2)
  }

  /** Of each hash the newest version, if it is above the floor; in order. */
  private def keepAbove(floor: Int): Unit = {
    if (!isSorted) JArrays.sort(written, 0, count)
    isSorted = true
    var kept = 0
    var i = 0
    while (i < count) {
      val isLast = i + 1 == count || (written(i + 1) >> 32) != (written(i) >> 32)
      if (isLast && written(i).toInt > floor) {
        written(kept) = written(i)
        kept += 1
      }
      i += 1
    }
    count = kept
    if (count * 8L < written.length && written.length > FirstLength) {
      written = JArrays.copyOf(written, Math.max(FirstLength, count * 2))
    }
  }
}

private object DirtyKeys {
  private final val FirstLength = 16
  private final val FirstRemovals = 64
  private final val RemovalHeap = Slots.EntrySize + 40L

  /** Sorts by hash, then by version, which is not negative. */
  private def pair(hash: Int, version: Int): Long = (hash.toLong << 32) | version
}
