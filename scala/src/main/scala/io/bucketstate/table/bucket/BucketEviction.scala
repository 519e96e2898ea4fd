package io.bucketstate.table.bucket

import java.util.Arrays

import io.bucketstate.table.entry.{Entry, MergeChain, Stamp}
import io.bucketstate.table.index.FamilyIndex

/**
 * What an eviction leaves of a bucket: entries, and what settled from versions above the floor.
 *
 * @param keys  that are left
 * @param freed bytes of heap of what went
 */
private[bucket] final class BucketEviction(val arrays: SlotArrays, val keys: Int, val freed: Long)

private[bucket] object BucketEviction {
  import SlotArrays._

  /**
   * Leaves out the records that the cold part has. The arrays it is given stay as they are, for their readers. O(keys).
   *
   * @param floor version of the cold part, counted from the table's base
   * @param index of what is left; null where there is none
   */
  def of(old: SlotArrays, floor: Int, isTimed: Boolean, index: FamilyIndex): BucketEviction = {
    // Each record is a wait for memory, so they are looked at once.
    var newer = new Array[Int](64)
    var kept = 0
    var freed = 0L
    var i = 0
    while (i < old.capacity) {
      if (isTaken(old.hashes.getPlain(i))) {
        val slot = old.content(old.slots.getPlain(i))
        if (isNewer(slot, old.stampAt(i), floor)) {
          if (kept == newer.length) newer = Arrays.copyOf(newer, kept * 2)
          newer(kept) = i
          kept += 1
        } else freed += MergeChain.heap(slot, null)
      }
      i += 1
    }
    val left =
      if (kept == 0) SlotArrays.empty(isWhole = false, index)
      else new SlotArrays(fitting(kept), isWhole = false, isTimed, index, old.isKeyed)
    i = 0
    while (i < kept) {
      left.placeAnew(old, newer(i))
      i += 1
    }
    new BucketEviction(left, kept, freed)
  }

  private def isNewer(slot: AnyRef, stamp: Int, floor: Int): Boolean =
    (slot.isInstanceOf[Entry] && !slot.asInstanceOf[Entry].isSettled) ||
      Stamp.isAbove(stamp, floor)
}
