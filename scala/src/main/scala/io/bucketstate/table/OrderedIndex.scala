package io.bucketstate.table

import java.util.concurrent.ConcurrentSkipListSet
import java.util.{Arrays => JArrays, Collections, Iterator => JIterator}

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

  /** Takes out a key that a scan gave. */
  def unlink(key: IndexedKey): Unit = {
    keys.remove(key)
    ()
  }

  def link(key: IndexedKey): Unit = {
    keys.add(key)
    ()
  }

  /** Keys that start with `prefix`, ascending. */
  def prefixed(prefix: Array[Byte]): JIterator[IndexedKey] = ranged(prefix, afterPrefix(prefix))

  /** Keys not below `from` and below `until`, ascending; null is no bound. */
  def ranged(from: Array[Byte], until: Array[Byte]): JIterator[IndexedKey] =
    if (from != null && until != null && JArrays.compareUnsigned(from, until) >= 0) {
      Collections.emptyIterator()
    } else {
      val some =
        if (from == null && until == null) keys
        else if (from == null) keys.headSet(new IndexedKey(until), false)
        else if (until == null) keys.tailSet(new IndexedKey(from), true)
        else keys.subSet(new IndexedKey(from), true, new IndexedKey(until), false)
      some.iterator()
    }
}

private[table] object OrderedIndex {

  /** Heap an indexed key takes besides its bytes: the object, the array's header, the list's nodes. */
  val KeyOverhead = 80

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

  final class IndexedKey(val bytes: Array[Byte]) extends Comparable[IndexedKey] {

    override def compareTo(other: IndexedKey): Int = JArrays.compareUnsigned(bytes, other.bytes)
  }
}
