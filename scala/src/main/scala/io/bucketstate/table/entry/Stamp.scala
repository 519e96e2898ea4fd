package io.bucketstate.table.entry

/**
 * Which version wrote the settled record in a slot, as one number: a record does not tell, and what is newer than the
 * cold part must not leave memory.
 */
private[table] object Stamp {

  /** The stamp of a record that is as the cold part has it, or of no record. */
  final val AsCold = 0

  /** @param version counted from the table's base, not negative */
  def of(version: Int): Int = version + 1

  /** Whether a version above the floor wrote the record. */
  def isAbove(stamp: Int, floor: Int): Boolean = stamp != AsCold && stamp - 1 > floor
}
