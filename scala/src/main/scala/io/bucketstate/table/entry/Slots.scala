package io.bucketstate.table.entry

/**
 * What a key's slot says: nothing, a settled record, or an [[Entry]] and those below it. The lowest entry stands on
 * nothing, on a settled record, or on [[Unknown]].
 */
private[table] object Slots {

  /**
   * In place of the record below an entry that was written without a look at the cold part: at older versions the key is
   * what the cold part says. No slot holds it, only entries stand on it, in buckets that are not whole. It is no
   * record, and takes no memory.
   */
  val Unknown: Array[Byte] = new Array[Byte](0)

  // Sizes on a 64-bit JVM with compressed pointers, objects aligned to 8 bytes.
  final val EntrySize = 40L

  /** The record of what a slot holds: that of the newest entry where there are several. */
  def recordOf(slot: AnyRef): Array[Byte] =
    if (slot.isInstanceOf[Entry]) slot.asInstanceOf[Entry].bytes else slot.asInstanceOf[Array[Byte]]

  /** Whether the newest thing known of a key is that it is there; what is not known is taken to be. */
  def exists(slot: AnyRef): Boolean = slot match {
    case null         => false
    case entry: Entry => !entry.isRemoval
    case _            => true
  }

  /** Heap of an entry without what it stands on, or of a record. */
  def heap(slot: AnyRef): Long =
    // Not as a pattern: that would ask for equality, here where every write comes by.
    if (slot eq Unknown) 0L
    else
      slot match {
        case entry: Entry => arraySize(entry.bytes) + EntrySize
        case record       => arraySize(record.asInstanceOf[Array[Byte]])
      }

  /**
   * Puts what the cold part has of a slot's key, null for nothing, in the place of [[Unknown]]; false if that is not
   * there.
   */
  def makeKnown(slot: AnyRef, found: AnyRef): Boolean = slot match {
    case entry: Entry =>
      val older = entry.older
      if (older eq Unknown) {
        entry.older = found
        true
      } else makeKnown(older, found)
    case _ => false
  }

  private def arraySize(array: Array[Byte]): Long = (array.length + 16L + 7L) & ~7L
}
