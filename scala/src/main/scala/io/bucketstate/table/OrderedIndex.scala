package io.bucketstate.table

import java.util.concurrent.ConcurrentSkipListMap
import java.util.{Arrays => JArrays, Collections, Iterator => JIterator}

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

  override def prefixed(prefix: Array[Byte]): JIterator[Cell] = ranged(prefix, afterPrefix(prefix))

  override def ranged(from: Array[Byte], until: Array[Byte]): JIterator[Cell] =
    if (from != null && until != null && JArrays.compareUnsigned(from, until) >= 0) {
      Collections.emptyIterator()
    } else {
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

  /** What comes first behind all that starts with `prefix`; null if nothing does. */
  private def afterPrefix(prefix: Array[Byte]): Array[Byte] = {
    var length = prefix.length
    while (length > 0 && prefix(length - 1) == -1) length -= 1
    if (length == 0) null
    else {
      val bound = JArrays.copyOf(prefix, length)
      bound(length - 1) = (bound(length - 1) + 1).toByte
      bound
    }
  }
}
