package io.bucketstate.table

/** What of a slot is to be seen at a version, counted from the table's base. */
private[table] object Visibility {

  /** The record, or null. */
  def record(slot: AnyRef, at: Int): Array[Byte] = {
    var current = slot
    while (current.isInstanceOf[Entry]) {
      val entry = current.asInstanceOf[Entry]
      if (entry.version <= at) {
        return if (entry.isRemoval) null
        else if (entry.isMerge) MergeChain.whole(entry)
        else entry.bytes
      }
      current = entry.older
    }
    current.asInstanceOf[Array[Byte]]
  }

  /** Whether there is one. */
  def holds(slot: AnyRef, at: Int): Boolean = {
    var current = slot
    while (current.isInstanceOf[Entry] && current.asInstanceOf[Entry].version > at)
      current = current.asInstanceOf[Entry].older
    Slots.exists(current)
  }
}
