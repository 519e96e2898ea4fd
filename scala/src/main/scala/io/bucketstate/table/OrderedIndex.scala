package io.bucketstate.table

import java.util.concurrent.ConcurrentSkipListSet
import java.util.{Arrays => JArrays}

/**
 * The keys of a column family in byte order (unsigned, lexicographic), over the same entries as the
 * buckets: it says which keys may exist, the buckets say what they hold at a version.
 *
 * Only families with a prefix or range encoder have one. Threads: one writer, any readers; scans are
 * weakly consistent, which is what a scan during changes needs.
 */
private[table] final class OrderedIndex {
  import OrderedIndex._

  private val keys = new ConcurrentSkipListSet[IndexedKey]()

  def add(record: Array[Byte]): Unit = {
    keys.add(keyOf(record))
    ()
  }

  def remove(record: Array[Byte]): Unit = {
    keys.remove(keyOf(record))
    ()
  }

  private def keyOf(record: Array[Byte]): IndexedKey =
    new IndexedKey(JArrays.copyOfRange(record, Record.keyStart(record), Record.keyEnd(record)))

  /** Keys that start with `prefix`, ascending. */
  def prefixed(prefix: Array[Byte]): Iterator[IndexedKey] = {
    val tail = keys.tailSet(new IndexedKey(prefix), true).iterator()
    new Iterator[IndexedKey] {
      private var ahead: IndexedKey = advance()
      private def advance(): IndexedKey =
        if (tail.hasNext) {
          val key = tail.next()
          if (key.startsWith(prefix)) key else null
        } else null
      override def hasNext: Boolean = ahead != null
      override def next(): IndexedKey = {
        if (ahead == null) throw new NoSuchElementException("end of the prefix")
        val key = ahead
        ahead = advance()
        key
      }
    }
  }
}

private[table] object OrderedIndex {

  /** Heap an indexed key takes besides its bytes: the object, the array's header, the list's nodes. */
  val KeyOverhead = 80

  final class IndexedKey(val bytes: Array[Byte]) extends Comparable[IndexedKey] {

    override def compareTo(other: IndexedKey): Int = JArrays.compareUnsigned(bytes, other.bytes)

    def startsWith(prefix: Array[Byte]): Boolean =
      bytes.length >= prefix.length &&
        JArrays.equals(bytes, 0, prefix.length, prefix, 0, prefix.length)
  }
}
