package io.bucketstate.table

import java.util.concurrent.ConcurrentSkipListMap
import java.util.{Arrays, Collections, Iterator => JIterator}

/**
 * Keys in byte order (unsigned, lexicographic).
 *
 * Keys that lie behind everything that was ever scanned wait in no order, and come into it when a scan reaches
 * them. So timers and times to live that are still far away, which are registered again and again and scanned for
 * up to now, cost the same whatever their number.
 */
private[table] final class OrderedIndex extends FamilyIndex {
  import OrderedIndex._

  // To themselves: where a key came back, the value is its new cell, the key may be the old one.
  private val cells = new ConcurrentSkipListMap[Cell, Cell]()

  // Keys below this one are in `cells`. Null before the first scan.
  @volatile private[this] var reached: Array[Byte] = _
  @volatile private[this] var reachedAll = false

  // What waits; each cell knows its place, counted from 1. Guarded by this.
  private[this] var waiting = None
  private[this] var waitingCount = 0

  // A record that no key that waits is below; null if none waits. Guarded by this.
  private[this] var lowest: Array[Byte] = _

  override def add(cell: Cell): Unit =
    if (reachedAll) order(cell)
    else {
      synchronized {
        if (reachedAll || isBelow(Slots.recordOf(cell.content), reached)) order(cell)
        else await(cell)
      }
    }

  override def remove(cell: Cell): Unit =
    if (cell.place == 0 || !stopsWaiting(cell)) {
      cells.remove(cell, cell)
      ()
    }

  // A scan passes over what is in order alone, and nothing goes back from there.
  override def relink(cell: Cell): Unit = if (!isWaiting(cell)) order(cell)

  /** A scan that outlives its writer must not take out what the next writer has put back. */
  override def unlink(cell: Cell, seen: AnyRef): Unit = {
    cells.remove(cell, cell)
    if (cell.content ne seen) cells.putIfAbsent(cell, cell)
    ()
  }

  override def isEmpty: Boolean = cells.isEmpty && synchronized(waitingCount == 0)

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

  private def await(cell: Cell): Unit = {
    if (waitingCount == waiting.length)
      waiting = Arrays.copyOf(waiting, Math.max(FirstRoom, waitingCount * 2))
    waiting(waitingCount) = cell
    waitingCount += 1
    cell.place = waitingCount
    val record = Slots.recordOf(cell.content)
    if (lowest == null || Record.compareKeys(record, lowest) < 0) lowest = record
  }

  private def isWaiting(cell: Cell): Boolean = cell.place != 0 && synchronized(cell.place != 0)

  /** False if a scan was there first. */
  private def stopsWaiting(cell: Cell): Boolean = synchronized {
    val place = cell.place
    if (place != 0) free(place)
    place != 0
  }

  /** The last one takes the place. */
  private def free(place: Int): Unit = {
    waitingCount -= 1
    val last = waiting(waitingCount)
    waiting(place - 1).place = 0
    if (place <= waitingCount) {
      waiting(place - 1) = last
      last.place = place
    }
    waiting(waitingCount) = null
    if (waitingCount == 0) {
      waiting = None
      lowest = null
    }
  }

  /** Brings everything below a key into order; everything there is, for null. */
  private def reach(until: Array[Byte]): Unit =
    if (!reachedAll && (until == null || isBehind(until, reached))) synchronized {
      if (until == null) {
        orderBelow(null)
        reachedAll = true
      } else if (isBehind(until, reached)) {
        if (lowest != null && isBelow(lowest, until)) orderBelow(until)
        reached = until
      }
    }

  private def orderBelow(until: Array[Byte]): Unit = {
    var least: Array[Byte] = null
    var place = 1
    while (place <= waitingCount) {
      val cell = waiting(place - 1)
      val record = Slots.recordOf(cell.content)
      if (until == null || isBelow(record, until)) {
        order(cell)
        free(place)
      } else {
        if (least == null || Record.compareKeys(record, least) < 0) least = record
        place += 1
      }
    }
    lowest = least
  }
}

private object OrderedIndex {

  /** Of the cell and the list's nodes. */
  private final val KeyHeap = 64L

  private final val FirstRoom = 8
  private val None = new Array[Cell](0)

  private def bound(key: Array[Byte]): Cell = new Cell(Record.of(key, Array.emptyByteArray))

  private def isBelow(record: Array[Byte], key: Array[Byte]): Boolean =
    key != null && Arrays.compareUnsigned(
      record,
      Record.keyStart(record),
      Record.keyEnd(record),
      key,
      0,
      key.length
    ) < 0

  private def isBehind(key: Array[Byte], other: Array[Byte]): Boolean =
    other == null || Arrays.compareUnsigned(key, other) > 0
}
