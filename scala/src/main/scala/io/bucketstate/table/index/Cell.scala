package io.bucketstate.table.index

import io.bucketstate.record.Record
import io.bucketstate.table.entry.Slots

/**
 * The place of a key in a family that is scanned: its bucket and the bucket's index both lead here, so
 * that a scan looks nothing up. Cells compare by the bytes of their keys (unsigned, lexicographic); two are equal only if
 * they are the same one.
 *
 * Threads: one writer sets the content, any may read it; the key never changes.
 *
 * @param first what is known of the key: a settled record or an [[Entry]]
 */
private[table] final class Cell(first: AnyRef) extends Comparable[Cell] {
  @volatile var content: AnyRef = first

  /** Where its index keeps it, and with which others; each says who may ask. */
  var place: Int = 0
  var group: AnyRef = _

  override def compareTo(other: Cell): Int =
    Record.compareKeys(Slots.recordOf(content), Slots.recordOf(other.content))
}
