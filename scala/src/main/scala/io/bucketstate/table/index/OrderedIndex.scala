package io.bucketstate.table.index

import java.util.concurrent.ConcurrentSkipListMap
import java.util.{Collections, Iterator => JIterator}

import io.bucketstate.record.{KeyRange, Record}
import io.bucketstate.table.entry.Slots

/**
 * Keys in byte order (unsigned, lexicographic).
 *
 * Keys that lie behind everything that was ever scanned wait ([[WaitingKeys]]), and come into order when a scan
 * reaches them. So timers and times to live that are still far away, which are registered again and again and
 * scanned for up to now, cost the same whatever their number.
 */
private[table] final class OrderedIndex extends FamilyIndex {
  import OrderedIndex._

  // To themselves: where a key came back, the value is its new cell, the key may be the old one.
  private val cells = new ConcurrentSkipListMap[Cell, Cell]()

  // Keys below its bound are in `cells`. Guarded by itself.
  private[this] val waiting = new WaitingKeys
  @volatile private[this] var reachedAll = false

  override def add(cell: Cell): Unit =
    if (reachedAll || !waits(cell)) order(cell)

  /** False if scans have been there. */
  private def waits(cell: Cell): Boolean = waiting.synchronized {
    val isBehind = !reachedAll && !waiting.isBelow(Slots.recordOf(cell.content))
    if (isBehind) waiting.add(cell)
    isBehind
  }

  override def remove(cell: Cell): Unit =
    if (reachedAll || !stopsWaiting(cell)) {
      cells.remove(cell, cell)
      ()
    }

  // A scan passes over what is in order alone, and nothing goes back from there.
  override def relink(cell: Cell): Unit =
    if (reachedAll || !isWaiting(cell)) order(cell)

  /** A scan that outlives its writer must not take out what the next writer has put back. */
  override def unlink(cell: Cell, seen: AnyRef): Unit = {
    cells.remove(cell, cell)
    if (cell.content ne seen) cells.putIfAbsent(cell, cell)
    ()
  }

  // In this order: a scan in another thread brings keys from those that wait into `cells`, and never back.
  override def isEmpty: Boolean = waiting.synchronized(waiting.isEmpty) && cells.isEmpty

  override def prefixed(prefix: Array[Byte]): JIterator[Cell] =
    ranged(KeyRange.ofPrefix(prefix))

  override def prefixedInOrder(prefix: Array[Byte]): JIterator[Cell] = prefixed(prefix)

  override def ranged(keys: KeyRange): JIterator[Cell] =
    if (keys.isEmpty) Collections.emptyIterator()
    else {
      import keys.{from, until}
      reach(until)
      val some =
        if (from == null && until == null) cells
        else if (from == null) cells.headMap(bound(until), false)
        else if (until == null) cells.tailMap(bound(from), true)
        else cells.subMap(bound(from), true, bound(until), false)
      some.values.iterator()
    }

  override def heap(keys: Long): Long = keys * KeyHeap

  private def order(cell: Cell): Unit = {
    cells.put(cell, cell)
    ()
  }

  private def isWaiting(cell: Cell): Boolean = waiting.synchronized(cell.place != 0)

  /** False if a scan was there first. */
  private def stopsWaiting(cell: Cell): Boolean = waiting.synchronized {
    val waited = cell.place != 0
    if (waited) waiting.remove(cell)
    waited
  }

  /** Brings everything below a key into order; everything there is, for null. */
  private def reach(until: Array[Byte]): Unit =
    if (!reachedAll) waiting.synchronized {
      if (until != null) waiting.advance(until)(order)
      else {
        waiting.takeAll(order)
        reachedAll = true
      }
    }
}

private object OrderedIndex {

  /** Heap of the cell and the list's nodes. */
  private final val KeyHeap = 64L

  private def bound(key: Array[Byte]): Cell = new Cell(Record.of(key, Array.emptyByteArray))
}
