package io.bucketstate.table.scan

import java.lang.ref.WeakReference

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
 * A scan that is left half-way is open until it is closed or collected, or the version ends. Whoever has many keys may leave
 * many: they lie in a list from which each is taken out by itself, and all are looked at only when there are twice as many as
 * were left of the last look.
 *
 * Threads: any; a scan and the writer may be two.
 */
private[table] final class OpenScans {
  import OpenScans._

  @volatile private[this] var count = 0
  @volatile private[this] var newest = NoMoment
  // A ring in the order in which they began, with this between the last and the first. Guarded by this.
  private[this] var ring = Open.none()
  private[this] var size = 0
  private[this] var most = FirstLook

  /** What a write stamps on its entry. */
  def current: Int = count

  /** Whether an open scan may see what was stamped with this. */
  def mayBeSeen(moment: Int): Boolean = moment <= newest

  /** A scan begins. What it gives is what was stamped with the moment of what is returned, or an earlier one. */
  def began(scan: AnyRef): Open = synchronized {
    if (count == Int.MaxValue) {
      throw new InvalidException(
        s"a batch scanned a part of its state ${Int.MaxValue} times",
        "Let batches take less input, for example with maxFilesPerTrigger or maxOffsetsPerTrigger."
      )
    }
    if (size >= most) takeOutLost()
    val open = new Open(scan, count)
    open.enter(ring)
    size += 1
    newest = open.moment
    count = open.moment + 1
    open
  }

  /** A scan has come to its end. Nothing comes of it when the version has ended before. */
  def ended(scan: Open): Unit = synchronized {
    if (scan.isIn(ring)) {
      scan.leave()
      size -= 1
      newest = ring.before.moment
    }
  }

  private def takeOutLost(): Unit = {
    var open = ring.after
    while (open ne ring) {
      val next = open.after
      if (open.isLost) {
        open.leave()
        size -= 1
      }
      open = next
    }
    newest = ring.before.moment
    most = Math.max(FirstLook, 2 * size)
  }

  /** The version ends, and with it all scans of it. */
  def forget(): Unit = if (count > 0) synchronized {
    ring = Open.none()
    size = 0
    most = FirstLook
    newest = NoMoment
    count = 0
  }
}

private[table] object OpenScans {

  /** Before all moments. */
  private final val NoMoment = -1

  /** So few are not looked at. */
  private final val FirstLook = 64

  /** An open scan in its ring, or what ties one. */
  final class Open private[OpenScans] (scan: AnyRef, val moment: Int) {
    private[this] val reader = new WeakReference(scan)
    private[this] var ring: Open = _

    private[OpenScans] var before: Open = this
    private[OpenScans] var after: Open = this

    /** It becomes the last one. */
    private[OpenScans] def enter(ring: Open): Unit = {
      this.ring = ring
      before = ring.before
      after = ring
      before.after = this
      ring.before = this
    }

    private[OpenScans] def isIn(ring: Open): Boolean = this.ring eq ring

    private[OpenScans] def leave(): Unit = {
      before.after = after
      after.before = before
      ring = null
    }

    private[OpenScans] def isLost: Boolean = reader.refersTo(null)
  }

  private object Open {
    def none(): Open = new Open(null, NoMoment)
  }
}
