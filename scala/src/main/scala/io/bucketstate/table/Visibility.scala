package io.bucketstate.table

/** What of a slot is to be seen at a version, counted from the table's base. */
private[table] object Visibility {

  /** The record, null for none, or [[Slots.Unknown]] where the cold part has to say. */
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

  /** What tells whether there is one: the entry of the version, a settled record, null, or [[Slots.Unknown]]. */
  def newest(slot: AnyRef, at: Int): AnyRef = {
    var current = slot
    while (current.isInstanceOf[Entry] && current.asInstanceOf[Entry].version > at)
      current = current.asInstanceOf[Entry].older
    current
  }
}
