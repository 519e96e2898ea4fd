package io.bucketstate.table

import java.util.ArrayDeque

/** Whose entries settle. */
private[table] trait Settler {

  /** Nothing reads below the entry's version any more: its record takes its place. */
  def settle(entry: Entry): Unit
}

/**
 * Entries of versions that nobody can go back behind, oldest first. They settle a few at a time beside
 * later writes, so no call ever pays for a whole change set. Writer only.
 */
private[table] final class SettlingBacklog {
  import SettlingBacklog._

  private[this] val versions = new ArrayDeque[Version]()

  def add(of: Settler, entries: Array[Entry]): Unit =
    if (entries.nonEmpty) versions.addLast(new Version(of, entries))

  def keepOnly(wanted: Settler => Boolean): Unit = {
    versions.removeIf(v => !wanted(v.of))
    ()
  }

  /** Called once for each new entry: settles up to two, so the backlog shrinks as it is made. */
  def settleSome(): Unit = {
    var n = 0
    while (n < 2 && !versions.isEmpty) {
      val first = versions.peekFirst()
      first.of.settle(first.entries(first.done))
      first.done += 1
      if (first.done == first.entries.length) versions.removeFirst()
      n += 1
    }
  }
}

private object SettlingBacklog {

  /** What one version wrote in one family, settled up to `done`. */
  private final class Version(val of: Settler, val entries: Array[Entry]) {
    var done = 0
  }
}
