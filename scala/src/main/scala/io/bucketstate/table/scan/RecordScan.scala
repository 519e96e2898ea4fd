package io.bucketstate.table.scan

import io.bucketstate.record.TimeBuckets
import io.bucketstate.table.entry.{Entry, Slots, Visibility}

/**
 * An iterator over records that looks at some of them at a time. Records lie anywhere in memory, and a
 * processor waits for many of them in the time it waits for one, if it need not know the first to ask
 * for the second: hence short loops that do one thing to all of them. For one thread.
 *
 * It gives what was there when it began, also of the version that is open for writing: what is put, written over or
 * removed while it goes on does not show. A scan that failed stays failed, and gives no record any more: what reads the
 * buckets may have passed one by, or a part of one, when it failed.
 *
 * @param at    the version, counted from the table's base
 * @param own   where scans of the open version tell that they are open; null for one of another version
 * @param ahead slots that are looked at together
 * @param times of that version; null where records do not expire
 */
abstract class RecordScan private[table] (
    at: Int,
    own: OpenScans,
    ahead: Int,
    times: TimeBuckets = null
) extends Iterator[Array[Byte]] {
  import RecordScan._

  private[this] val slots = new Array[AnyRef](ahead)
  private[this] val records = new Array[Array[Byte]](ahead)
  private[this] var found = 0
  private[this] var taken = 0
  private[this] var touched = 0
  private[this] var readsValues = false
  private[this] var open: OpenScans.Open = _ // null where nothing has to know of its end
  private[this] var isClosed = false
  private[this] var failure: Throwable = _ // null while nothing failed

  /** The moment that it is of within its version: see [[OpenScans]]. */
  private[this] var ownMoment = Visibility.Always

  /**
   * Looks for the first records now; if these are not all, the scan is open from now on. So what it gives does not
   * depend on when somebody asks for it (SPARK-38320 tells what can come of anything else).
   */
  private[table] def begun(): this.type = {
    refill()
    if (own != null && !isAtEnd) {
      open = own.began(this)
      ownMoment = open.moment
    }
    this
  }

  /** Ends the scan, also half-way: it gives nothing more, and writes need not keep anything for it. May be called again. */
  def close(): Unit = {
    isClosed = true
    taken = found
    leave()
  }

  private def leave(): Unit = if (open != null) {
    own.ended(open)
    open = null
  }

  /** When the scan is of, in its version. */
  private[table] def moment: Int = ownMoment

  /** Whether [[gather]] is known to find nothing any more. */
  protected def isAtEnd: Boolean

  /** Says that it is not only keys that are read. */
  def readValues(): Unit = readsValues = true

  /** Puts what the next slots hold into the front of an array; tells how many, 0 only at the end. */
  protected def gather(into: Array[AnyRef]): Int

  /** What was gathered last as the i-th, `held`, has no record at the version. */
  protected def hidden(i: Int, held: AnyRef): Unit

  override def hasNext: Boolean = taken < found || refill()

  override def next(): Array[Byte] = {
    if (!hasNext) throw new NoSuchElementException("end of the records")
    val record = records(taken)
    taken += 1
    record
  }

  private def refill(): Boolean = {
    taken = 0
    found = 0
    if (failure != null && !isClosed) throw failure
    try look()
    catch {
      case e: Throwable =>
        failure = e
        found = 0
        leave()
        throw e
    }
  }

  private def look(): Boolean = {
    var gathered = if (isClosed) 0 else gather(slots)
    while (gathered > 0 && found == 0) {
      touchSlots(gathered)
      resolve(gathered)
      if (found == 0) gathered = gather(slots)
    }
    if (gathered == 0) leave()
    if (readsValues) touchValues()
    found > 0
  }

  private def resolve(gathered: Int): Unit = {
    val mark = Slots.Unknown
    var i = 0
    while (i < gathered) {
      val record = Visibility.record(slots(i), at, ownMoment)
      if (record == null) hidden(i, slots(i))
      else if (record eq mark) throw unknown()
      else if (times == null || times.shows(record)) {
        records(found) = record
        found += 1
      }
      i += 1
    }
  }

  private def unknown() =
    new IllegalStateException(
      "a scan came to what only the cold part knows, which is read by itself"
    )

  /** Brings the first bytes of what the slots hold into the processor's cache. */
  private def touchSlots(gathered: Int): Unit = {
    var sum = touched
    var i = 0
    while (i < gathered) {
      if (slots(i).isInstanceOf[Entry]) sum += 1
      i += 1
    }
    touched = sum
  }

  /** Brings the records whole into the processor's cache, as far as they are short. */
  private def touchValues(): Unit = {
    var sum = touched
    var i = 0
    while (i < found) {
      val record = records(i)
      val end = Math.min(record.length, MostTouched)
      var at = CacheLine - 1
      while (at < end) {
        sum += record(at)
        at += CacheLine
      }
      i += 1
    }
    touched = sum
  }
}

private object RecordScan {
  private final val CacheLine = 64
  private final val MostTouched = 512
}
