package io.bucketstate.table.scan

import java.util.PriorityQueue

import io.bucketstate.record.Record
import io.bucketstate.table.entry.{Entry, Slots}

/**
 * The records of some buckets at a version in the byte order of their keys: as [[CellScan]] gives those of one bucket
 * that is whole.
 *
 * @param at   the version, counted from the table's base
 * @param own  of a scan of the open version, see [[RecordScan]]
 * @param gone removals up to this version are what nobody can look behind; -1 for readers
 */
private[table] final class KeyOrderScan(
    buckets: Seq[KeyCursor],
    at: Int,
    own: OpenScans,
    gone: Int
) extends RecordScan(at, own, KeyOrderScan.Ahead) {
  import KeyOrderScan._

  private[this] val queue = new PriorityQueue[Head](Math.max(1, buckets.size))
  buckets.foreach(bucket => enqueue(new Head(bucket)))

  override protected def gather(into: Array[AnyRef]): Int = {
    var n = 0
    while (n < into.length && !queue.isEmpty) {
      val head = queue.poll()
      into(n) = head.slot
      n += 1
      if (isGone(head.slot)) head.cursor.unlink(head.slot)
      enqueue(head)
    }
    n
  }

  override protected def isAtEnd: Boolean = queue.isEmpty

  override protected def hidden(i: Int, held: AnyRef): Unit = ()

  private def enqueue(head: Head): Unit = if (head.advance()) {
    queue.add(head)
    ()
  }

  private def isGone(slot: AnyRef): Boolean = slot match {
    case entry: Entry => entry.isRemoval && entry.version <= gone
    case _            => false
  }
}

private object KeyOrderScan {
  private final val Ahead = 16

  /** A bucket by the key that it stands on. */
  private final class Head(val cursor: KeyCursor) extends Comparable[Head] {
    private var lead = 0L

    var slot: AnyRef = _

    def advance(): Boolean = cursor.advance() && {
      slot = cursor.slot
      lead = Record.leadingBytes(Slots.recordOf(slot), 0)
      true
    }

    override def compareTo(other: Head): Int =
      if (lead != other.lead) java.lang.Long.compareUnsigned(lead, other.lead)
      else Record.compareKeys(Slots.recordOf(slot), Slots.recordOf(other.slot))
  }
}
