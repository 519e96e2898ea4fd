package io.bucketstate.table

import io.bucketstate.record.TimedValue
import io.bucketstate.table.bucket.Bucket
import io.bucketstate.table.cold.{FamilyBuckets, FamilyCold, Floor}
import io.bucketstate.table.entry.{Entry, MergeChain, Slots, Stamp}

/**
 * What becomes of the entries of a family's versions: they settle once nobody can go back behind their version, and are
 * undone with a version that is given up. The writer's.
 */
private[table] final class FamilySettling(buckets: FamilyBuckets, cold: FamilyCold, floor: Floor) {
  import FamilySettling._
  import Slots._

  private[this] var mostHidden = FewRemovals // removals that whole buckets keep at most
  private[this] var cached = 0 // takes what is read ahead: its value means nothing

  /**
   * A version is about to be opened.
   *
   * @param keyCount of the family, None if it is not known
   */
  def begin(keyCount: Option[Long]): Unit =
    mostHidden = keyCount.fold(Long.MaxValue)(Math.max(FewRemovals, _))

  /** Nothing reads below the version of these entries any more: their records take their places. */
  def settle(entries: Array[Entry], from: Int, until: Int): Unit = {
    var sum = cached
    var i = from
    while (i < until) {
      val entry = entries(i)
      sum += buckets.known(entry.bucket).touch(entry)
      if (entry.older.isInstanceOf[Entry]) sum += 1
      i += 1
    }
    cached = sum
    i = from
    while (i < until) {
      settle(entries(i))
      i += 1
    }
  }

  private def settle(entry: Entry): Unit = {
    val bucket = buckets.known(entry.bucket)
    val i = bucket.indexOf(entry)
    if (i < 0) {
      // A removal that was kept may have been written over since.
      if (!entry.isKept)
        throw new IllegalStateException("a committed entry is not in its table")
    } else if (!entry.isRemoval) settleRecord(bucket, i, entry)
    else if (mustHide(bucket, entry)) {
      // Nobody looks behind it any more.
      bucket.charge(-MergeChain.heap(entry.older, null))
      entry.older = null
      bucket.setStamp(i, Stamp.AsCold)
      cold.keep(entry)
    } else {
      bucket.charge(-MergeChain.heap(entry, null))
      settleAs(bucket, i, entry, null)
    }
  }

  private def settleRecord(bucket: Bucket, i: Int, entry: Entry): Unit = {
    val settled = if (entry.isMerge) MergeChain.settled(entry) else entry.bytes
    bucket.charge(-freed(entry, settled))
    if (entry.isMerge) MergeChain.markSettled(settled)
    bucket.setStamp(i, Stamp.of(entry.version))
    settleAs(bucket, i, entry, settled)
    // Nobody looks behind it any more, and what has the version's changes for longer shall not have what they replaced.
    if (settled eq entry.bytes) entry.older = null
  }

  /**
   * Whether a removal has to stay, because the cold part of this floor, or of one to come, may have its key. A whole bucket
   * may do without: it has to stay whole then until the floor has passed the removal.
   */
  private def mustHide(bucket: Bucket, removal: Entry): Boolean =
    removal.version > floor.stamp && MergeChain.below(removal) != null && {
      val isWorthIt = !bucket.isWhole || cold.hidden < mostHidden
      if (!isWorthIt) bucket.staysWholeUntil(removal.version)
      isWorthIt
    }

  /** Takes the place of an entry, of which nothing was left where it is null. */
  private def settleAs(bucket: Bucket, i: Int, entry: Entry, settled: AnyRef): Unit = {
    val head = bucket.at(i)
    if (head eq entry) {
      if (settled != null) bucket.replace(i, settled) else bucket.free(i)
    } else {
      var newer = head.asInstanceOf[Entry]
      while (newer.older ne entry) newer = newer.older.asInstanceOf[Entry]
      newer.older = settled
    }
  }

  /** Heap that settling gives back. In the common case its record, which lies elsewhere, is not looked at. */
  private def freed(entry: Entry, settled: AnyRef): Long =
    if (settled eq entry.bytes) EntrySize + MergeChain.heap(entry.older, null)
    else MergeChain.heap(entry, null) - MergeChain.heap(settled, null)

  /** Takes back entries that are the newest of their keys. */
  def undo(entries: Array[Entry]): Unit =
    entries.foreach { entry =>
      val bucket = buckets.known(entry.bucket)
      val i = bucket.indexOf(entry)
      if (i < 0 || (bucket.at(i) ne entry)) {
        throw new IllegalStateException("an entry to undo is not the newest of its key")
      }
      val older = MergeChain.below(entry)
      bucket.charge(-MergeChain.heap(entry, older))
      // The key is what the cold part says again: that it is not there, where nothing hides what it has.
      if (older == null || (older eq Slots.Unknown)) bucket.free(i)
      else {
        bucket.replace(i, older)
        bucket.setStart(i, TimedValue.Untimed) // it may be later than that of what is gone
      }
    }
}

private object FamilySettling {

  /** Removals that are kept however few keys there are. */
  private final val FewRemovals = 64L
}
