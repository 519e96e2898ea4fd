package io.bucketstate.table

import java.util.concurrent.ConcurrentSkipListMap
import java.util.{Collections, Iterator => JIterator}

/** Keys in byte order (unsigned, lexicographic). */
private[table] final class OrderedIndex extends FamilyIndex {
  import OrderedIndex._

  // To themselves: where a key came back, the value is its new cell, the key may be the old one.
  private val cells = new ConcurrentSkipListMap[Cell, Cell]()

  override def add(cell: Cell): Unit = {
    cells.put(cell, cell)
    ()
  }

  override def remove(cell: Cell): Unit = {
    cells.remove(cell, cell)
    ()
  }

  override def relink(cell: Cell): Unit = add(cell)

  /** A scan that outlives its writer must not take out what the next writer has put back. */
  override def unlink(cell: Cell, seen: AnyRef): Unit = {
    remove(cell)
    if (cell.content ne seen) cells.putIfAbsent(cell, cell)
    ()
  }

  override def isEmpty: Boolean = cells.isEmpty

  override def prefixed(prefix: Array[Byte]): JIterator[Cell] =
    ranged(KeyRange.ofPrefix(prefix))

  override def prefixedInOrder(prefix: Array[Byte]): JIterator[Cell] = prefixed(prefix)

  override def ranged(keys: KeyRange): JIterator[Cell] =
    if (keys.isEmpty) Collections.emptyIterator()
    else {
      import keys.{from, until}
      val some =
        if (from == null && until == null) cells
        else if (from == null) cells.headMap(bound(until), false)
        else if (until == null) cells.tailMap(bound(from), true)
        else cells.subMap(bound(from), true, bound(until), false)
      some.values.iterator()
    }

  override def heap(keys: Long): Long = keys * KeyHeap
}

private object OrderedIndex {

  /** Of the cell and the list's nodes. */
  private final val KeyHeap = 64L

  private def bound(key: Array[Byte]): Cell = new Cell(Record.of(key, Array.emptyByteArray))
}
