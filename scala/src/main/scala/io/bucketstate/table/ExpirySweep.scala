package io.bucketstate.table

import io.bucketstate.record.TimeBuckets
import io.bucketstate.table.bucket.BucketSweep
import io.bucketstate.table.cold.{FamilyBuckets, Floor}

/**
 * Gives back the memory of what has expired for everybody who can still read, a few slots beside each write: as the
 * settling of versions, and Flink's incremental clean-up, it is paid for by those who bring in new records. A
 * bucket's slots are looked at in one pass for each horizon. The writer's.
 */
private[table] final class ExpirySweep(buckets: FamilyBuckets, floor: Floor, numBuckets: Int) {
  import ExpirySweep._

  private[this] val found = new BucketSweep(Together)
  private[this] var due = 0
  private[this] var swept = 0L // up to this horizon
  private[this] var sweeping: TimeBuckets = _ // null between two passes
  private[this] var bucket = 0
  private[this] var slot = 0

  /** Called once for each new entry. */
  def some(times: TimeBuckets): Unit = {
    due += SlotsPerWrite
    if (due >= Together) {
      due -= Together
      step(times)
    }
  }

  private def step(times: TimeBuckets): Unit = {
    if (sweeping == null && times.horizon > swept) {
      sweeping = times
      bucket = 0
      slot = 0
    }
    if (sweeping != null) {
      val there = buckets.loaded(bucket)
      slot = if (there == null) -1 else there.sweep(slot, sweeping, floor.stamp, found)
      if (slot < 0) {
        slot = 0
        bucket += 1
        if (bucket == numBuckets) {
          swept = sweeping.horizon
          sweeping = null
        }
      }
    }
  }
}

private object ExpirySweep {

  /** So the expired that are still there are about a sixteenth of the slots, while keys come as they go. */
  private final val SlotsPerWrite = 16
  private final val Together = 512
}
