package io.bucketstate.table.scan

import java.util.{Iterator => JIterator}

import io.bucketstate.table.entry.Entry
import io.bucketstate.table.index.{Cell, FamilyIndex}

/**
 * The records of some cells of one bucket's index at a version, in the order of the cells. Of keys that are gone for
 * all who can still read, the writer's scan tells the index: the next scan need not come by them again.
 *
 * @param at   the version, counted from the table's base
 * @param own  of a scan of the open version, see [[RecordScan]]
 * @param gone removals up to this version are what nobody can look behind; -1 for readers
 */
private[table] final class CellScan(
    index: FamilyIndex,
    following: JIterator[Cell],
    at: Int,
    own: OpenScans,
    gone: Int
) extends RecordScan(at, own, CellScan.Ahead) {
  private[this] val cells = new Array[Cell](CellScan.Ahead)

  override protected def gather(into: Array[AnyRef]): Int = {
    var n = 0
    while (n < into.length && following.hasNext) {
      cells(n) = following.next()
      n += 1
    }
    var i = 0
    while (i < n) {
      into(i) = cells(i).content
      i += 1
    }
    n
  }

  override protected def isAtEnd: Boolean = !following.hasNext

  override protected def hidden(i: Int, held: AnyRef): Unit = held match {
    case entry: Entry if entry.isRemoval && entry.version <= gone => index.unlink(cells(i), entry)
    case _                                                        => ()
  }
}

private object CellScan {

  /** Most scans of a prefix are short, and pay for the room. */
  private final val Ahead = 16
}
