package io.bucketstate.checkpoint.records

import scala.collection.mutable

/** Records, and how many of each family went by that are no removals. For one thread. */
private[checkpoint] final class CountedRecords(records: RecordCursor)
    extends CursorBehind(records) {
  private[this] val counts = mutable.Map.empty[Int, Long]
  private[this] var last = 0 // family
  private[this] var ofLast = 0L

  /** How many records of a family went by so far. */
  def count(family: Int): Long =
    counts.getOrElse(family, 0L) + (if (family == last) ofLast else 0L)

  override def advance(): Boolean = {
    val more = records.advance()
    if (more) {
      if (records.family != last) {
        counts(last) = count(last)
        last = records.family
        ofLast = 0L
      }
      if (!records.isRemoval) ofLast += 1
    }
    more
  }
}
