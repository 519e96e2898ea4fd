package io.bucketstate.table.index

import java.util.concurrent.ConcurrentHashMap
import java.util.{ArrayList, Arrays, Collections, Iterator => JIterator, NoSuchElementException}

import io.bucketstate.record.{BucketAssigner, BucketKey, KeyRange, Record}
import io.bucketstate.table.entry.Slots

/**
 * Keys by their prefix, in no order: what Spark's `PrefixKeyScanStateEncoder` asks for. A scan is one
 * lookup and then touches its own keys only. (HDFSBackedStateStoreProvider finds prefixes by hash, too.)
 */
private[table] final class PrefixIndex(bucketKey: BucketKey, assigner: BucketAssigner)
    extends FamilyIndex {
  import PrefixIndex._

  private[this] val prefixes = new ConcurrentHashMap[Prefix, Prefix]() // to themselves

  override def add(cell: Cell): Unit = {
    val prefix = prefixOf(cell)
    val known = prefixes.putIfAbsent(prefix, prefix)
    if (known != null) known.add(cell) else cell.group = prefix
  }

  override def remove(cell: Cell): Unit = {
    val known = cell.group.asInstanceOf[Prefix]
    // A prefix is found by the bytes of a cell it leads to, so it leaves the map before the last one.
    if (known.leadsOnlyTo(cell)) prefixes.remove(known)
    else known.remove(cell)
    ()
  }

  // Keys of a prefix that are gone are passed by until they settle: that disturbs its own scans only.
  override def unlink(cell: Cell, seen: AnyRef): Unit = ()

  override def relink(cell: Cell): Unit = ()

  override def isEmpty: Boolean = prefixes.isEmpty

  override def prefixedInOrder(prefix: Array[Byte]): JIterator[Cell] = {
    val cells = new ArrayList[Cell]
    prefixed(prefix).forEachRemaining { cell => cells.add(cell); () }
    Collections.sort(cells)
    cells.iterator()
  }

  override def prefixed(prefix: Array[Byte]): JIterator[Cell] =
    prefixes.get(prefixOf(new Cell(Record.of(prefix, Array.emptyByteArray)))) match {
      case null  => Collections.emptyIterator()
      case known => known.cells
    }

  override def ranged(keys: KeyRange): JIterator[Cell] =
    throw new IllegalStateException("keys that are found by their prefix have no order to scan by")

  override def heap(keys: Long): Long =
    keys * CellHeap + prefixes.mappingCount * PrefixHeap +
      Math.max(0L, keys - prefixes.mappingCount) * GroupedHeap

  private def prefixOf(cell: Cell): Prefix = {
    val record = Slots.recordOf(cell.content)
    val start = Record.keyStart(record)
    val end = bucketKey.end(record, start, Record.keyEnd(record))
    new Prefix(assigner.hash(record, start, end).toInt, cell, bucketKey)
  }
}

private object PrefixIndex {
  private final val CellHeap = 24L
  private final val PrefixHeap = 80L // of the map, with its key
  private final val GroupedHeap = 8L // of an array

  /**
   * A prefix, and the keys that have it; each knows it and, where there are several, its place. Its bytes are not
   * copied: they are those of a key that is there now, never of one that is gone, which would be kept in memory as
   * long as the prefix is. It is never empty.
   *
   * In an order, so that many prefixes of one hash are found as quickly as others: the map asks for that.
   */
  private final class Prefix(override val hashCode: Int, one: Cell, bucketKey: BucketKey)
      extends Comparable[Prefix] {
    @volatile private[this] var first = one // of those that are there

    // Null while there was but one. Readers go on with the array they found.
    @volatile private[this] var places: PublishedRefs[Cell] = _
    private[this] var used = 1 // places, freed ones included
    private[this] var live = 1

    override def equals(other: Any): Boolean = other match {
      case that: Prefix => hashCode == that.hashCode && compareTo(that) == 0
      case _            => false
    }

    override def compareTo(other: Prefix): Int = {
      val (a, b) = (record, other.record)
      val (aStart, bStart) = (Record.keyStart(a), Record.keyStart(b))
      val aEnd = bucketKey.end(a, aStart, Record.keyEnd(a))
      val bEnd = bucketKey.end(b, bStart, Record.keyEnd(b))
      Arrays.compare(a, aStart, aEnd, b, bStart, bEnd)
    }

    private def record: Array[Byte] = Slots.recordOf(first.content)

    def leadsOnlyTo(cell: Cell): Boolean = live == 1 && (first eq cell)

    def add(cell: Cell): Unit = {
      if (places == null) {
        first.place = 0
        places = roomFor(first)
      } else if (used == places.length) rebuild()
      cell.group = this
      cell.place = used
      places.setRelease(used, cell)
      used += 1
      live += 1
    }

    def remove(cell: Cell): Unit = {
      if (first eq cell) first = after(cell.place)
      places.setRelease(cell.place, null)
      live -= 1
    }

    /** Goes over each freed place once: those before the first cell stay free. */
    private def after(place: Int): Cell = {
      var i = place + 1
      while (places.getPlain(i) == null) i += 1
      places.getPlain(i)
    }

    private def roomFor(cell: Cell): PublishedRefs[Cell] = {
      val room = new PublishedRefs[Cell](2)
      room.setPlain(0, cell)
      room
    }

    /** Grows when full of cells, or only clears out freed places. */
    private def rebuild(): Unit = {
      val old = places
      val fresh = new PublishedRefs[Cell](live * 2)
      used = 0
      var i = 0
      while (i < old.length) {
        val cell = old.getPlain(i)
        if (cell != null) {
          cell.place = used
          fresh.setPlain(used, cell)
          used += 1
        }
        i += 1
      }
      places = fresh
    }

    def cells: JIterator[Cell] = {
      val single = first
      val all = places
      if (all == null) Collections.singleton(single).iterator() else new Cells(all)
    }
  }

  private final class Cells(all: PublishedRefs[Cell]) extends JIterator[Cell] {
    private[this] var following = 0
    private[this] var ahead = find()

    override def hasNext: Boolean = ahead != null

    override def next(): Cell = {
      if (ahead == null) throw new NoSuchElementException("end of the prefix")
      val cell = ahead
      ahead = find()
      cell
    }

    private def find(): Cell = {
      var cell: Cell = null
      while (cell == null && following < all.length) {
        cell = all.getAcquire(following)
        following += 1
      }
      cell
    }
  }
}
