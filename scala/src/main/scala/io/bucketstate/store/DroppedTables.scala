package io.bucketstate.store

import java.lang.ref.WeakReference

import io.bucketstate.record.ColdState
import io.bucketstate.table.StateTable

/**
 * Tables that no version is opened from any more, or never was, and that somebody may still have. Changed by one thread
 * at a time; what they take may be asked for by any.
 */
private[store] final class DroppedTables {
  import DroppedTables._

  @volatile private[this] var all = List.empty[Dropped]

  /** @param readers that will tell of their end */
  def add(table: StateTable, readers: Int): Unit =
    all = new Dropped(table, readers) :: all.filter(_.get != null)

  def endRead(table: StateTable): Unit =
    all.find(_.get eq table).foreach(found => found.readers -= 1)

  /** What they may be read from beside memory, for as long as anybody has them: a reader that is killed tells of no end. */
  def coldParts: Seq[ColdState] = all.flatMap(dropped => Option(dropped.get)).flatMap(_.coldParts)

  /** Heap of those that are read. What nobody reads is garbage, whether it was collected or not. */
  def memoryBytes: Long = all.iterator
    .filter(_.readers > 0)
    .flatMap(dropped => Option(dropped.get))
    .map(_.memoryBytes)
    .sum
}

private object DroppedTables {
  final class Dropped(table: StateTable, @volatile var readers: Int)
      extends WeakReference[StateTable](table)
}
