package io.bucketstate.table.scan

import java.lang.ref.WeakReference
import java.util.ArrayList

import io.bucketstate.error.InvalidException

/**
 * The scans of a family's open version that have not come to their end, and the moments that they are of: a scan gives
 * what was there when it began, whatever is written while it goes on, as an iterator of RocksDB does.
 *
 * Time is a count of the scans that began. A write stamps its entry with it, and a scan sees what was stamped before it
 * began. A write takes the place of an earlier one of its version, unless a scan still sees that: then it
 * lies above it. So it costs a comparison where no scan is open, and an entry for each key that is written again where
 * one is.
 *
 * A scan that is left half-way is open until it is collected, or the version ends.
 *
 * Threads: any; a scan and the writer may be two.
 */
private[table] final class OpenScans {
  import OpenScans._

  @volatile private[this] var count = 0
  @volatile private[this] var newest = NoMoment
  private[this] val open = new ArrayList[Open] // in the order in which they began; guarded by this

  /** What a write stamps on its entry. */
  def now: Int = count

  /** Whether an open scan may see what was stamped with this. */
  def mayBeSeen(moment: Int): Boolean = moment <= newest

  /** A scan begins. What it gives is what was stamped with this moment or an earlier one. */
  def began(scan: AnyRef): Int = synchronized {
    if (count == Int.MaxValue) {
      throw new InvalidException(
        s"a batch scanned a part of its state ${Int.MaxValue} times",
        "Let batches take less input, for example with maxFilesPerTrigger or maxOffsetsPerTrigger."
      )
    }
    val moment = count
    open.removeIf(_.isLost)
    open.add(new Open(scan, moment))
    newest = moment
    count = moment + 1
    moment
  }

  /** A scan has come to its end. */
  def ended(scan: AnyRef): Unit = synchronized {
    open.removeIf(other => other.isOf(scan) || other.isLost)
    newest = if (open.isEmpty) NoMoment else open.get(open.size - 1).moment
  }

  /** The version ends, and with it all scans of it. */
  def forget(): Unit = if (count > 0) synchronized {
    open.clear()
    newest = NoMoment
    count = 0
  }
}

private object OpenScans {

  /** Before all moments. */
  private final val NoMoment = -1

  private final class Open(scan: AnyRef, val moment: Int) {
    private[this] val of = new WeakReference(scan)

    def isOf(other: AnyRef): Boolean = of.refersTo(other)

    def isLost: Boolean = of.refersTo(null)
  }
}
