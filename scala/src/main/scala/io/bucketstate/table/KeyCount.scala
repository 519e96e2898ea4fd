package io.bucketstate.table

import java.util.TreeMap

/**
 * How many keys a family holds at its newest version, the open one's changes included: exact, as long as it was known
 * of each key that was written whether it was there. From the first version on whose writes were guessed it is an
 * estimate, until all keys of one that is not older than the last such version were counted.
 *
 * What is found by counting is kept apart from what writes have counted: versions can be undone all the same.
 *
 * Threads: `tell` by any, but not beside `undone`; all else by the writer.
 *
 * @param base      version that the table began with
 * @param initial   keys at that version, or, where `estimated`, about so many
 */
private[table] final class KeyCount(
    versions: Versions,
    base: Long,
    initial: Long,
    estimated: Boolean
) {
  import KeyCount._

  private[this] var written = initial
  private[this] var offset = 0L // from `written` to what is there
  private[this] var guessedFrom = if (estimated) base else Never
  private[this] var guessedUntil = base
  private[this] val past =
    new TreeMap[Long, Long]() // of the versions from `guessedFrom` on what was written
  if (estimated) past.put(base, initial)
  @volatile private[this] var told: Told = _ // null for nothing

  def keys: Long = if (isEstimate) Math.max(0L, written + offset) else written + offset

  def isEstimate: Boolean = guessedFrom != Never

  /** What writes have counted: to go back to with [[undo]]. */
  def mark: Long = written

  /** A write of the open version puts in a key that was not there, or takes one away. */
  def add(keys: Int): Unit = written += keys

  /** A write of the open version is counted as if its key had been there, which nobody has looked up. */
  def guess(): Unit = {
    guessedUntil = versions.changing
    if (!isEstimate) guessedFrom = guessedUntil
  }

  /** The open version is complete, and about to become the newest. */
  def commit(): Unit = if (isEstimate) {
    past.put(versions.changing, written)
    if (past.size > Remembered) past.pollFirstEntry()
    ()
  }

  def undo(mark: Long): Unit = written = mark

  /** Versions above the newest were undone. */
  def undone(): Unit = if (isEstimate) {
    if (told != null && told.version > versions.newest) told = null
    past.tailMap(versions.newest, false).clear()
    guessedUntil = Math.min(guessedUntil, versions.newest)
    if (guessedFrom > versions.newest) guessedFrom = Never
  }

  /** So many keys were counted at a version that was committed: of use with the first [[begin]] that is not below it. */
  def tell(version: Long, keys: Long): Unit = told = new Told(version, keys)

  /** A version is about to be opened. */
  def begin(): Unit = {
    val now = told
    if (now != null && now.version <= versions.oldest) {
      told = null
      counted(now.version, now.keys)
    }
  }

  /**
   * So many keys were counted at a version, below which nobody can go back any more. Does nothing if it is too long
   * ago to be remembered.
   */
  def counted(version: Long, keys: Long): Unit = if (isEstimate && past.containsKey(version)) {
    offset = keys - past.get(version)
    past.headMap(version, false).clear()
    if (guessedUntil > version) guessedFrom = version + 1
    else {
      guessedFrom = Never
      past.clear()
    }
  }
}

private object KeyCount {

  private final class Told(val version: Long, val keys: Long)

  /** Later than every version. */
  private final val Never = Long.MaxValue

  /** Versions that a count may be late. */
  private final val Remembered = 1000
}
