package io.bucketstate.table

/** What a key's slot says: nothing, a settled record, or an [[Entry]] and those below it. */
private[table] object Slots {

  /** Whether the newest thing known of a key is that it is there. */
  def exists(slot: AnyRef): Boolean = slot match {
    case null         => false
    case entry: Entry => !entry.isRemoval
    case _            => true
  }

  /** The record at a version, counted from the table's base, or null. */
  def visible(slot: AnyRef, at: Int): Array[Byte] = {
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

  /** Whether `visible` would find something. */
  def holds(slot: AnyRef, at: Int): Boolean = {
    var current = slot
    while (current.isInstanceOf[Entry] && current.asInstanceOf[Entry].version > at)
      current = current.asInstanceOf[Entry].older
    exists(current)
  }
}
