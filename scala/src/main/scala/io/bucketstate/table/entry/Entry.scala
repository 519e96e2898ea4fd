package io.bucketstate.table.entry

import java.lang.invoke.VarHandle

import io.bucketstate.record.RecordOp

/**
 * One write of one key at one version, newest first in a chain of older ones.
 *
 * An entry lives only as long as some reader or a retried task may need to see behind it; then it
 * *settles*: its place in the table is taken by its bare [[Record]] (or by nothing, when it is a
 * tombstone). So a key that has not changed lately costs one byte array and nothing else.
 *
 * Threads: everything but `older` is final, so an entry that a reader finds is whole. `older` is set
 * before the entry is linked and later only replaced by something that reads the same at every version
 * still readable. That may be an array or a merge made just then, so the link is published with release
 * and followed with acquire semantics (by fences, see [[PublishedInts]]). A second write of the same key at the same version makes a new entry that takes
 * the first one's place, or lies above it while a scan is open that sees the first one.
 *
 * The idea of versions per entry is from Flink's `CopyOnWriteStateMap`.
 *
 * @param hash    places the key inside its bucket
 * @param version version of the store this write belongs to, counted from the table's base version
 * @param bytes   the key and, unless `isRemoval`, the value: see [[Record]]
 * @param moment  when in its version it was written: see [[OpenScans]]
 * @param replaced what is `older` at first: null, a settled `Array[Byte]` record, another `Entry`, or [[Slots.Unknown]]
 */
private[table] final class Entry(
    val hash: Int,
    ofBucket: Int,
    val version: Int,
    val bytes: Array[Byte],
    ofRemoval: Boolean,
    ofMerge: Boolean,
    replaced: AnyRef,
    val moment: Int = 0
) {
  private[this] var below = replaced

  // Three facts in one number: an entry takes 40 bytes, and eight more with fields for all.
  private[this] val place =
    ofBucket | (if (ofRemoval) Entry.Removal else 0) | (if (ofMerge) Entry.Merge else 0)

  def bucket: Int = place & Entry.Bucket

  /** True for a tombstone: the key does not exist at this version. */
  def isRemoval: Boolean = (place & Entry.Removal) != 0

  /** True if the value is appended to that of `older`: see [[MergeChain]]. */
  def isMerge: Boolean = (place & Entry.Merge) != 0

  def older: AnyRef = {
    val slot = below
    VarHandle.acquireFence()
    slot
  }

  /** By something equivalent. Writer only. */
  def older_=(slot: AnyRef): Unit = {
    VarHandle.releaseFence()
    below = slot
  }

  /** Where the open change set lists this entry, or one of the marks below; the writer's own. */
  var position: Int = 0

  /** A removal that settled, but stays because the cold part still has the key. */
  def isKept: Boolean = position == Entry.Kept

  /** A merge that settled: what it stands on has, too. */
  def isSettled: Boolean = position == Entry.Settled

  /** Which [[RecordOp]] the write is. */
  def op: Byte =
    if (isRemoval) RecordOp.Remove else if (isMerge) RecordOp.Merge else RecordOp.Put
}

private[table] object Entry {

  private final val Removal = 1 << 31
  private final val Merge = 1 << 30
  private final val Bucket = Merge - 1

  /** Places in a change set of entries that are in none any more. */
  final val Kept = -1
  final val Settled = -2
}
