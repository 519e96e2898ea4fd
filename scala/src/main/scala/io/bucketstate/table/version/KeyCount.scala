package io.bucketstate.table.version

/**
 * How many keys a family holds at its newest version, the open one's changes included, as long as it was known of each
 * key that was written whether it was there. It never says about how many. The writer's.
 *
 * @param atBase keys at the version that the table began with; None as long as nobody has counted them
 */
private[table] final class KeyCount(atBase: () => Option[Long]) {
  import KeyCount._

  private[this] var more = 0L // than at the base

  def keys: Option[Long] = if (more == NotKnown) None else atBase().map(_ + more)

  /** To go back to with [[undo]]. */
  def mark: Long = more

  def undo(mark: Long): Unit = more = mark

  /** A write of the open version puts in a key that was not there, or takes one away. */
  def add(keys: Int): Unit = if (more != NotKnown) more += keys

  /** A write of the open version is of a key that nobody has looked up. */
  def giveUp(): Unit = more = NotKnown
}

private object KeyCount {
  private final val NotKnown = Long.MinValue
}
