package io.bucketstate.table.scan

import java.util.{Iterator => JIterator}

import io.bucketstate.record.{KeyRange, Record}
import io.bucketstate.table.entry.Slots
import io.bucketstate.table.index.{Cell, FamilyIndex}

/** Keys of one bucket in the order of their bytes, with what is known of them. For one thread. */
private[table] abstract class KeyCursor {

  /** Goes to the next key, if there is one. */
  def advance(): Boolean

  /** What a slot of the key holds, or the record as the cold part has it. */
  def slot: AnyRef

  /** Nobody who can read finds anything behind the removal that was the slot, `seen`. */
  def unlink(seen: AnyRef): Unit
}

/**
 * The keys that a bucket has in memory.
 *
 * @param cells in order
 */
private[table] final class CellCursor(index: FamilyIndex, cells: JIterator[Cell])
    extends KeyCursor {
  private[this] var cell: Cell = _
  private[this] var slotNow: AnyRef = _

  override def advance(): Boolean = cells.hasNext && {
    cell = cells.next()
    slotNow = cell.content
    true
  }

  override def slot: AnyRef = slotNow

  override def unlink(seen: AnyRef): Unit = index.unlink(cell, seen)
}

/**
 * The keys of a bucket that is not whole: those in memory, and those that only the cold part has, which are read some at
 * a time, so that a scan that ends early has read little, and a long one holds nothing open.
 *
 * What memory knows of a key is looked up after the cold part was read, in the arrays that were captured when the scan
 * began: those have all that changed since the floor and can be seen at the version that is scanned.
 *
 * @param inMemory of those arrays' index, in order
 * @param keys     that are scanned
 * @param read     the first of some keys that the cold part has, at most so many, as memory knows them
 */
private[table] final class PartialCursor(
    inMemory: JIterator[Cell],
    keys: KeyRange,
    read: (KeyRange, Int) => Array[AnyRef]
) extends KeyCursor {
  import PartialCursor._

  private[this] var chunk = new Array[AnyRef](0)
  private[this] var at = 0
  private[this] var together = First
  private[this] var isLast = false // of the cold part there is no more behind the chunk
  private[this] var known: AnyRef = _ // of memory, ahead; null at its end
  private[this] var slotNow: AnyRef = _
  fetch(keys)
  toNextKnown()

  override def advance(): Boolean = {
    val cold = ahead()
    val order =
      if (known == null) 1
      else if (cold == null) -1
      else Record.compareKeys(Slots.recordOf(known), Slots.recordOf(cold))
    slotNow = if (order <= 0) known else cold
    if (order <= 0) toNextKnown()
    if (order >= 0) at += 1
    slotNow != null
  }

  override def slot: AnyRef = slotNow

  /** It hides what the cold part has. */
  override def unlink(seen: AnyRef): Unit = ()

  private def toNextKnown(): Unit = known = if (inMemory.hasNext) inMemory.next().content else null

  /** The next of the cold part, null at its end. */
  private def ahead(): AnyRef = {
    if (at == chunk.length && !isLast) {
      together = next
      fetch(keys.behind(Slots.recordOf(chunk(at - 1))))
    }
    if (at < chunk.length) chunk(at) else null
  }

  /** How many to read next: more and more, but no more than some heap, where they are as large as the last ones. */
  private def next: Int = {
    var bytes = 0L
    var i = 0
    while (i < chunk.length) {
      bytes += Slots.recordOf(chunk(i)).length
      i += 1
    }
    val fits = MostBytes * chunk.length / Math.max(1L, bytes)
    Math.max(1L, Math.min(Math.min(Most, together * Growth).toLong, fits)).toInt
  }

  private def fetch(left: KeyRange): Unit = {
    chunk = read(left, together)
    isLast = chunk.length < together
    at = 0
  }
}

private object PartialCursor {
  private final val First = 16
  private final val Growth = 4
  private final val Most = 1024
  private final val MostBytes = 1L << 20
}
