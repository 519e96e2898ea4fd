package io.bucketstate.table.entry

/**
 * What of a slot is to be seen at a version, counted from the table's base, and at a moment of it: see [[OpenScans]].
 */
private[table] object Visibility {

  /** All moments of a version. */
  final val Always = Int.MaxValue

  /** The record, null for none, or [[Slots.Unknown]] where the cold part has to say. */
  def record(slot: AnyRef, at: Int, moment: Int = Always): Array[Byte] = {
    var current = slot
    while (current.isInstanceOf[Entry]) {
      val entry = current.asInstanceOf[Entry]
      if (isSeen(entry, at, moment)) {
        return if (entry.isRemoval) null
        else if (entry.isMerge) MergeChain.whole(entry)
        else entry.bytes
      }
      current = entry.older
    }
    current.asInstanceOf[Array[Byte]]
  }

  /** What tells whether there is one: the entry of the version, a settled record, null, or [[Slots.Unknown]]. */
  def newest(slot: AnyRef, at: Int, moment: Int = Always): AnyRef = {
    var current = slot
    while (current.isInstanceOf[Entry] && !isSeen(current.asInstanceOf[Entry], at, moment))
      current = current.asInstanceOf[Entry].older
    current
  }

  private def isSeen(entry: Entry, at: Int, moment: Int): Boolean =
    entry.version < at || (entry.version == at && entry.moment <= moment)
}
