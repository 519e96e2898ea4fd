package io.bucketstate.table

import java.util.Arrays

import scala.collection.immutable.SortedMap

import io.bucketstate.record.{Expiry, TimeBuckets, TimedValue}
import io.bucketstate.table.version.Versions

/**
 * The time buckets of a family at every version that can be read, and at the open one, whose keys are counted while
 * it is written. The horizon of a version is that of the times seen before it: so it stands still while the version is
 * written, and two attempts at it see the same.
 *
 * Threads: `at` by any, all else by the writer.
 *
 * @param base at the version that the table began with
 */
private[table] final class FamilyTimes(expiry: Expiry, versions: Versions, base: TimeBuckets) {
  import FamilyTimes._

  @volatile private[this] var known = new Known(versions.newest, Array(base))
  // Of the open version, and else of the newest.
  private[this] var open = base
  private[this] var newest = base.newest
  private[this] var untimedKeys = base.untimedKeys
  private[this] var starts = new Array[Long](8) // ascending
  private[this] var keys = new Array[Long](8)
  private[this] var count = 0
  private[this] var total = 0L
  private[this] var expiredKeys = 0L
  private[this] var lateWrites = 0L
  private[this] var removedUntil = 0L // end of the newest time bucket that a key was removed from
  private[this] var width = expiry.span // of the time buckets that are written now

  restore(base)

  /** At a version that can be read, or the open one. */
  def at(version: Long): TimeBuckets = known.at(version)

  /** Whether the open version, or else the newest, has a record that is no removal. */
  def shows(record: Array[Byte]): Boolean = open.shows(record)

  /** Keys at the newest version, the open one's changes included. */
  def keyCount: Long = total

  /** Start of the time bucket that what is written now lies in, by processing time. */
  def writeTime: Long = newest

  /** The figures of the open version, and else of the newest. */
  def figures: ExpiryFigures = ExpiryFigures(expiredKeys, lateWrites, open.keys.size)

  /**
   * The next version is open for writing.
   *
   * @param now seconds since 1970
   */
  def begin(now: Long): Unit = {
    lateWrites = 0L
    if (expiry.byProcessingTime) newest = Math.max(newest, expiry.startOf(now))
    val horizon = expiry.after match {
      case Some(after) if newest != TimeBuckets.NoTime =>
        Math.max(open.horizon, expiry.startOf(newest - after))
      case _ => open.horizon
    }
    expiredKeys = forgetBefore(horizon)
    // From now on what had no time ages, too.
    val untimed =
      if (open.untimed == TimedValue.Never && expiry.after.isDefined && newest >= 0) newest
      else open.untimed
    open = frozen(open.copy(horizon = horizon, untimed = untimed))
    if (expiry.after.isEmpty) width = widthBeside(open.keys.size)
    known = known.keepingFrom(versions.oldest).and(open)
  }

  /**
   * The open version as it is now. Where nothing expires by itself the horizon comes after the time buckets that were
   * emptied by removals: so no removal has to be remembered for what lies behind it. As in Apex's
   * `ManagedTimeUnifiedStateImpl`, they go as a whole.
   */
  def current: TimeBuckets =
    if (expiry.after.isDefined) frozen(open)
    else frozen(open.copy(horizon = Math.max(open.horizon, Math.min(removedUntil, oldestStart))))

  /** Start of the oldest time bucket with keys. */
  private def oldestStart: Long = {
    var i = 0
    while (i < count && keys(i) <= 0) i += 1
    val timed = if (i < count) starts(i) else TimedValue.Never - 1
    if (untimedKeys > 0) Math.min(timed, open.untimed) else timed
  }

  /** The open version is complete. */
  def commit(): Unit = {
    open = current
    forgetBefore(open.horizon) // what removals have emptied
    known = known.butLast.and(open)
  }

  /** Versions above the newest, after some were undone. */
  def undone(): Unit = {
    known = known.upTo(versions.newest)
    restore(known.last)
  }

  /**
   * The time of a record that is about to be written, and whether it may be: a key ages from the newest time that it
   * was ever written with, and what has expired at once is not written. Where nothing expires it is as young as it
   * must be.
   *
   * @param replaced what the key has now, null if it is not there, or has expired
   */
  def take(record: Array[Byte], replaced: Array[Byte]): Boolean = {
    val start = TimedValue.startOf(record)
    if (start != TimedValue.Never && start > newest) newest = start
    if (start != TimedValue.Never && (replaced != null || expiry.after.isEmpty)) {
      val least = if (replaced == null) open.horizon else floorOf(replaced)
      val own = if (width == expiry.span) start else lastWithin(start)
      val taken = Math.max(own, least)
      if (taken != start) TimedValue.setStart(record, taken)
    }
    val isTaken = replaced != null || start >= open.horizon || expiry.after.isEmpty
    if (!isTaken) lateWrites += 1
    isTaken
  }

  /** A key has another record; either may be null for none. The time of the new one, `TimedValue.Untimed` for none. */
  def replaced(before: Array[Byte], after: Array[Byte]): Long = {
    if (before != null) {
      val start = TimedValue.startOf(before)
      add(start, -1L)
      if (after == null && start != TimedValue.Never)
        removedUntil = Math.max(removedUntil, start + expiry.span)
    }
    if (after == null) TimedValue.Untimed
    else {
      val start = TimedValue.startOf(after)
      add(start, 1L)
      start
    }
  }

  /**
   * Where nothing expires, time buckets stay as long as they have keys, and footers and manifests list them all. So the
   * more there are, the longer are those that come: a year of minutes is some four thousand.
   */
  private def widthBeside(buckets: Int): Long = {
    val doublings = Math.max(0, buckets - Short) / Doubled
    expiry.span << Math.min(doublings, MostDoublings)
  }

  /** The last span of the longer time bucket: its keys may expire later than others one day, and never earlier. */
  private def lastWithin(start: Long): Long =
    expiry.startOf(Math.floorDiv(start, width) * width + width - expiry.span)

  private def floorOf(record: Array[Byte]): Long = {
    val start = TimedValue.startOf(record)
    val own = if (start == TimedValue.Untimed) open.untimed else start
    if (own == TimedValue.Never) open.horizon else own
  }

  private def add(start: Long, n: Long): Unit = {
    total += n
    if (start == TimedValue.Untimed) untimedKeys += n
    else {
      var i = Arrays.binarySearch(starts, 0, count, start)
      if (i < 0) {
        i = -i - 1
        insert(i, start)
      }
      keys(i) += n
    }
  }

  private def insert(at: Int, start: Long): Unit = {
    if (count == starts.length) {
      starts = Arrays.copyOf(starts, count * 2)
      keys = Arrays.copyOf(keys, count * 2)
    }
    System.arraycopy(starts, at, starts, at + 1, count - at)
    System.arraycopy(keys, at, keys, at + 1, count - at)
    starts(at) = start
    keys(at) = 0L
    count += 1
  }

  /** Counts no keys any more that lie behind a horizon; tells how many there were. O(time buckets). */
  private def forgetBefore(horizon: Long): Long = {
    var gone = 0
    var lost = 0L
    while (gone < count && starts(gone) < horizon) {
      lost += keys(gone)
      gone += 1
    }
    System.arraycopy(starts, gone, starts, 0, count - gone)
    System.arraycopy(keys, gone, keys, 0, count - gone)
    count -= gone
    if (open.untimed < horizon) {
      lost += untimedKeys
      untimedKeys = 0L
    }
    total -= lost
    lost
  }

  private def restore(to: TimeBuckets): Unit = {
    open = to
    newest = to.newest
    untimedKeys = to.untimedKeys
    total = to.keyCount
    count = 0
    to.keys.foreachEntry { (start, n) =>
      insert(count, start)
      keys(count - 1) = n
    }
  }

  private def frozen(times: TimeBuckets): TimeBuckets = {
    val counted = SortedMap.newBuilder[Long, Long]
    var i = 0
    while (i < count) {
      if (keys(i) > 0) counted += starts(i) -> keys(i)
      i += 1
    }
    times.copy(newest = newest, untimedKeys = untimedKeys, keys = counted.result())
  }
}

private object FamilyTimes {

  /** So many time buckets are of one span, where nothing expires. */
  private final val Short = 1000

  /** After so many more, time buckets are twice as long. */
  private final val Doubled = 250

  /** A span fits an unsigned int, and so do all times. */
  private final val MostDoublings = 31

  /**
   * Some versions one after another. Immutable.
   *
   * @param first version of the first of `buckets`
   */
  private final class Known(first: Long, buckets: Array[TimeBuckets]) {
    def last: TimeBuckets = buckets(buckets.length - 1)

    /** Below the first and above the last it is those: there the family was, or will be, the same. */
    def at(version: Long): TimeBuckets = {
      val i = version - first
      if (i <= 0) buckets(0)
      else if (i >= buckets.length) last
      else buckets(i.toInt)
    }

    def and(next: TimeBuckets): Known = new Known(first, buckets :+ next)

    def butLast: Known = new Known(first, buckets.dropRight(1))

    def keepingFrom(version: Long): Known = {
      val gone = Math.max(0L, Math.min(version - first, buckets.length - 1L)).toInt
      if (gone == 0) this else new Known(first + gone, buckets.drop(gone))
    }

    def upTo(version: Long): Known =
      new Known(first, buckets.take(Math.max(1L, version - first + 1).toInt))
  }
}
