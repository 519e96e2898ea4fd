package io.bucketstate.table

/** What a key's slot says: nothing, a settled record, or an [[Entry]] and those below it. */
private[table] object Slots {

  // Sizes on a 64-bit JVM with compressed pointers, objects aligned to 8 bytes.
  final val EntrySize = 40L

  /** The record of what a slot holds: that of the newest entry where there are several. */
  def recordOf(slot: AnyRef): Array[Byte] =
    if (slot.isInstanceOf[Entry]) slot.asInstanceOf[Entry].bytes else slot.asInstanceOf[Array[Byte]]

  /** Whether the newest thing known of a key is that it is there. */
  def exists(slot: AnyRef): Boolean = slot match {
    case null         => false
    case entry: Entry => !entry.isRemoval
    case _            => true
  }

  /** Heap of an entry without what it stands on, or of a record. */
  def heap(slot: AnyRef): Long = slot match {
    case entry: Entry => arraySize(entry.bytes) + EntrySize
    case record       => arraySize(record.asInstanceOf[Array[Byte]])
  }

  private def arraySize(array: Array[Byte]): Long = (array.length + 16L + 7L) & ~7L
}
