package io.bucketstate.table.version

import io.bucketstate.error.InvalidException

/**
 * The versions that a table holds. The table moves them on; its families look at them. A version is
 * stamped on entries as its distance from the base, so that it takes four bytes.
 *
 * Threads: one writer, any number of readers.
 *
 * @param base version the table is loaded with
 */
private[table] final class Versions(base: Long) {
  @volatile private[this] var newestVersion = base
  @volatile private[this] var oldestVersion = base
  @volatile private[this] var openStamp = 0 // 0 when none is open

  def newest: Long = newestVersion

  def oldest: Long = oldestVersion

  def isOpen: Boolean = openStamp > 0

  /** What a write stamps on its entries. */
  def open: Int = {
    val stamp = openStamp
    if (stamp == 0) throw new IllegalStateException("no version is open for writing")
    stamp
  }

  /** The version that a family is added to or taken from. */
  def changing: Long = if (isOpen) newestVersion + 1 else newestVersion

  def begin(): Unit = openStamp = relative(newestVersion + 1)

  def abort(): Unit = openStamp = 0

  def commit(): Unit = {
    newestVersion += 1
    openStamp = 0
  }

  def giveUpNewest(): Unit = newestVersion -= 1

  def giveUpOldest(): Unit = oldestVersion += 1

  /** A version that is counted from the base. */
  def absolute(relative: Int): Long = base + relative

  /** A version counted from the base. */
  def relative(version: Long): Int = {
    val distance = version - base
    // One less than an integer holds: see Stamp.
    if (distance >= Int.MaxValue) {
      throw new InvalidException(
        s"version $version is ${Int.MaxValue} versions or more after $base, where this table began",
        "Restart the query: it then counts from its newest version."
      )
    }
    distance.toInt
  }
}
