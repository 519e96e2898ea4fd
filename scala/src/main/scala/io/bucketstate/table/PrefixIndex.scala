package io.bucketstate.table

import java.util.concurrent.ConcurrentHashMap
import java.util.concurrent.atomic.AtomicReferenceArray
import java.util.{Arrays, Collections, Iterator => JIterator, NoSuchElementException}

import io.bucketstate.bucket.{BucketAssigner, BucketKey}

/**
 * Keys by their prefix, in no order: what Spark's `PrefixKeyScanStateEncoder` asks for. A scan is one
 * lookup and then touches its own keys only. (HDFSBackedStateStoreProvider finds prefixes by hash, too.)
 *
 * All keys of a prefix share a bucket, so it is one thread at a time that adds them.
 */
private[table] final class PrefixIndex(bucketKey: BucketKey, assigner: BucketAssigner)
    extends FamilyIndex {
  import PrefixIndex._

  // A prefix with one key leads to its cell, one with more to their group.
  private[this] val prefixes = new ConcurrentHashMap[Prefix, AnyRef]()

  override def add(cell: Cell): Unit = {
    val prefix = prefixOf(cell)
    prefixes.get(prefix) match {
      case null         => prefixes.put(prefix, cell)
      case group: Group => group.add(cell)
      case single       =>
        val group = new Group
        group.add(single.asInstanceOf[Cell])
        group.add(cell)
        prefixes.put(prefix, group)
    }
    ()
  }

  override def remove(cell: Cell): Unit = {
    val prefix = prefixOf(cell)
    prefixes.get(prefix) match {
      case group: Group =>
        group.remove(cell)
        if (group.isEmpty) prefixes.remove(prefix)
      case _ => prefixes.remove(prefix, cell)
    }
    ()
  }

  // Keys of a prefix that are gone are passed by until they settle: that disturbs its own scans only.
  override def unlink(cell: Cell, seen: AnyRef): Unit = ()

  override def relink(cell: Cell): Unit = ()

  override def prefixed(prefix: Array[Byte]): JIterator[Cell] =
    prefixes.get(prefixOf(new Cell(Record.of(prefix, Array.emptyByteArray)))) match {
      case null         => Collections.emptyIterator()
      case group: Group => group.cells
      case cell         => Collections.singleton(cell.asInstanceOf[Cell]).iterator()
    }

  override def ranged(from: Array[Byte], until: Array[Byte]): JIterator[Cell] =
    throw new IllegalStateException("keys that are found by their prefix have no order to scan by")

  override def heap(keys: Long): Long =
    keys * CellHeap + prefixes.mappingCount * PrefixHeap +
      Math.max(0L, keys - prefixes.mappingCount) * GroupedHeap

  private def prefixOf(cell: Cell): Prefix = {
    val record = Bucket.recordOf(cell.content)
    val start = Record.keyStart(record)
    val end = bucketKey.end(record, start, Record.keyEnd(record))
    new Prefix(assigner.hash(record, start, end).toInt, cell, bucketKey)
  }
}

private object PrefixIndex {
  private final val CellHeap = 24L
  private final val PrefixHeap = 64L // of the map, with its key
  private final val GroupedHeap = 16L // of an array, and a share of its group

  /** The prefix of a cell's key, whose bytes are not copied. */
  private final class Prefix(override val hashCode: Int, cell: Cell, bucketKey: BucketKey) {

    override def equals(other: Any): Boolean = other match {
      case that: Prefix => hashCode == that.hashCode && sameBytes(record, that.record)
      case _            => false
    }

    private def record: Array[Byte] = Bucket.recordOf(cell.content)

    private def sameBytes(a: Array[Byte], b: Array[Byte]): Boolean = {
      val (aStart, bStart) = (Record.keyStart(a), Record.keyStart(b))
      val aEnd = bucketKey.end(a, aStart, Record.keyEnd(a))
      val bEnd = bucketKey.end(b, bStart, Record.keyEnd(b))
      Arrays.equals(a, aStart, aEnd, b, bStart, bEnd)
    }
  }

  /** Cells of one prefix; each knows its place. Readers go on with the array they found. */
  private final class Group {
    @volatile private[this] var places = new AtomicReferenceArray[Cell](2)
    private[this] var used = 0 // places, freed ones included
    private[this] var live = 0

    def isEmpty: Boolean = live == 0

    def add(cell: Cell): Unit = {
      if (used == places.length) rebuild()
      cell.place = used
      places.setRelease(used, cell)
      used += 1
      live += 1
    }

    def remove(cell: Cell): Unit =
      if (cell.place < used && (places.getPlain(cell.place) eq cell)) {
        places.setRelease(cell.place, null)
        live -= 1
      }

    /** Grows when full of cells, or only clears out freed places. */
    private def rebuild(): Unit = {
      val old = places
      val fresh = new AtomicReferenceArray[Cell](Math.max(2, live * 2))
      used = 0
      (0 until old.length).foreach { i =>
        val cell = old.getPlain(i)
        if (cell != null) {
          cell.place = used
          fresh.setPlain(used, cell)
          used += 1
        }
      }
      places = fresh
    }

    def cells: JIterator[Cell] = new JIterator[Cell] {
      private[this] val all = places
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
}
