package io.bucketstate.table.version

import java.util.{Arrays => JArrays}

import io.bucketstate.record.{ChangeSink, FamilyChanges, FamilyDescriptor, TimeBuckets}
import io.bucketstate.table.entry.{Entry, MergeChain, Slots}

/** What the open version wrote in one family: the newest entry of each key. Writer only. */
private[table] final class ChangeList(numBuckets: Int) {
  import ChangeList._

  private[this] var entries = new Array[Entry](FirstLength)
  private[this] var count = 0
  private[this] var bytes = 0L
  private[this] var due = RoomStep
  private[this] var grouped: GroupedChanges = _ // by bucket, until the next write

  /** Whether so much was written since the last time that somebody should look whether there is room for more. */
  def isDue: Boolean = bytes >= due

  /** Heap of what was written, an estimate; from then on the next megabyte is due. */
  def accounted(): Long = {
    due = bytes + RoomStep
    bytes
  }

  /** The first write of a key. */
  def add(entry: Entry): Unit = {
    grouped = null
    bytes += entry.bytes.length + WriteSize
    entry.position = count
    if (count == entries.length) entries = JArrays.copyOf(entries, count * 2)
    entries(count) = entry
    count += 1
  }

  /** The first write of a key stands on a record that memory did not have. */
  def standOn(heap: Long): Unit = bytes += heap

  /** A later write of a key, which takes the place of the one before, or lies above it. */
  def replace(before: Entry, entry: Entry): Unit = {
    grouped = null
    val isAbove = entry.older eq before
    bytes += entry.bytes.length + (if (isAbove) WriteSize else -before.bytes.length.toLong)
    entry.position = before.position
    entries(before.position) = entry
  }

  /** Replaces entries; `by` gives an equivalent one, or the same. */
  def rewrite(by: Entry => Entry): Unit = {
    var i = 0
    while (i < count) {
      val entry = entries(i)
      val other = by(entry)
      if (other ne entry) replace(entry, other)
      i += 1
    }
  }

  /** By bucket (a counting sort: no comparisons). */
  def group(
      descriptor: FamilyDescriptor,
      keyCount: Option[Long],
      times: Option[TimeBuckets]
  ): FamilyChanges = {
    val start = new Array[Int](numBuckets + 1)
    var i = 0
    while (i < count) {
      start(entries(i).bucket + 1) += 1
      i += 1
    }
    var b = 0
    while (b < numBuckets) {
      start(b + 1) += start(b)
      b += 1
    }
    val sorted = new Array[Entry](count)
    i = 0
    while (i < count) {
      val entry = entries(i)
      sorted(start(entry.bucket)) = entry
      start(entry.bucket) += 1
      i += 1
    }
    grouped = new GroupedChanges(descriptor, numBuckets, keyCount, times, sorted)
    grouped
  }

  /**
   * Hands over the entries and begins anew. By bucket when they were grouped before, as a commit does:
   * settling them later then stays in one bucket's arrays for a while, and so in the processor's cache.
   */
  def take(): Array[Entry] = {
    val taken = if (grouped != null) grouped.entries else JArrays.copyOf(entries, count)
    // After a burst the list shrinks step by step, lest it is grown again for every second batch.
    if (count * 8L < entries.length && entries.length > FewChanges)
      entries = new Array[Entry](entries.length / 2)
    else JArrays.fill(entries.asInstanceOf[Array[AnyRef]], 0, count, null)
    count = 0
    bytes = 0L
    due = RoomStep
    grouped = null
    taken
  }

  def heap: Long = entries.length * 4L
}

private object ChangeList {
  private final val FirstLength = 16
  private final val FewChanges = 1024
  private final val Ahead = 32
  private final val RoomStep = 1L << 20 // bytes
  private final val WriteSize = Slots.EntrySize + 24L // and the header of its record

  private final class GroupedChanges(
      override val descriptor: FamilyDescriptor,
      override val numBuckets: Int,
      override val keyCount: Option[Long],
      override val times: Option[TimeBuckets],
      val entries: Array[Entry]
  ) extends FamilyChanges {
    private[this] var cached = 0 // of no meaning: what was read ahead

    override def foreach(sink: ChangeSink): Unit = {
      var i = 0
      while (i < entries.length) {
        val until = Math.min(i + Ahead, entries.length)
        touch(i, until)
        while (i < until) {
          val entry = entries(i)
          if (isChange(entry) && !isOfExpired(entry)) {
            sink(entry.bucket, entry.op, entry.bytes)
          }
          i += 1
        }
      }
    }

    /** Not the removal of a key that is known not to be in older versions: such a write leaves no trace. */
    private def isChange(entry: Entry): Boolean =
      !entry.isRemoval || Slots.exists(MergeChain.below(entry))

    /** What an entry stands on is given up when it settles, so it is not looked at. */
    override def replay(sink: ChangeSink): Unit =
      entries.foreach(entry => sink(entry.bucket, entry.op, entry.bytes))

    /** Whether it removes what the horizon hides from this version on anyway. */
    private def isOfExpired(entry: Entry): Boolean =
      entry.isRemoval && times.isDefined && {
        val before = MergeChain.below(entry)
        Slots.exists(before) && !times.get.shows(Slots.recordOf(before))
      }

    /** Brings both ends of records into the processor's cache: it waits for many at once. */
    private def touch(from: Int, until: Int): Unit = {
      var sum = cached
      var i = from
      while (i < until) {
        val record = entries(i).bytes
        sum += record(record.length - 1)
        i += 1
      }
      cached = sum
    }
  }
}
