package io.bucketstate.table

import java.util.ArrayDeque

import io.bucketstate.table.entry.Entry

/**
 * Entries of versions that nobody can go back behind, oldest first. They settle a few at a time beside
 * later writes, so no call ever pays for a whole change set; and some together, because a processor waits
 * for many places in memory in the time it waits for one. Writer only.
 */
private[table] final class SettlingBacklog {
  import SettlingBacklog._

  private[this] val versions = new ArrayDeque[Version]()
  private[this] var due = 0

  def add(family: FamilySettling, entries: Array[Entry]): Unit =
    if (entries.nonEmpty) versions.addLast(new Version(family, entries))

  def keepOnly(wanted: FamilySettling => Boolean): Unit = {
    versions.removeIf(v => !wanted(v.family))
    ()
  }

  def isEmpty: Boolean = versions.isEmpty

  /** Called once for each new entry: two old ones are due for it, so the backlog shrinks as it is made. */
  def settleSome(): Unit = {
    due += 2
    if (due >= Together) settleDue()
  }

  /** All of them. */
  def settleAll(): Unit = while (!versions.isEmpty) {
    due = Together
    settleDue()
  }

  private def settleDue(): Unit = {
    while (due > 0 && !versions.isEmpty) {
      val first = versions.peekFirst()
      val until = Math.min(first.done + due, first.entries.length)
      due -= until - first.done
      first.family.settle(first.entries, first.done, until)
      first.done = until
      if (until == first.entries.length) versions.removeFirst()
    }
    due = 0
  }
}

private object SettlingBacklog {
  private final val Together = 32

  /** What one version wrote in one family, settled up to `done`. */
  private final class Version(val family: FamilySettling, val entries: Array[Entry]) {
    var done = 0
  }
}
