package io.bucketstate.table.cold

import java.util.concurrent.atomic.AtomicReferenceArray

import io.bucketstate.record.{BucketAssigner, FamilySpec, RecordBuffer}
import io.bucketstate.table.bucket.{BucketCompletion, FilledBucket}
import io.bucketstate.table.index.FamilyIndex

/**
 * Makes buckets of a family whole again: what the cold part has of one is read ahead by any thread, and becomes part of
 * the bucket when the writer opens a version.
 */
private[table] final class BucketFills(
    spec: FamilySpec,
    assigner: BucketAssigner,
    buckets: FamilyBuckets,
    cold: FamilyCold,
    floor: Floor,
    newIndex: () => FamilyIndex
) {
  import BucketFills._

  private[this] val filled = new AtomicReferenceArray[FilledBucket](assigner.numBuckets)

  /** Whether there are buckets that are not whole, and room for all of them. Any thread. */
  def isPossible: Boolean = buckets.notWhole > 0 && buckets.hasRoom

  /** Reads a bucket that is not whole, if that is possible; true if it did. Any thread. */
  def read(number: Int): Boolean = {
    val bucket = buckets.loaded(number)
    val isWanted =
      bucket != null && !bucket.capture().isWhole && isPossible && !isOfNow(filled.get(number))
    if (isWanted) filled.set(number, cold.bucketAtFloor(number, newIndex))
    isWanted
  }

  /**
   * What was read becomes part of its buckets, if the floor is still the same: a key may have left memory because a
   * later one has it. So much at a time that nobody waits for it. The writer's.
   */
  def take(): Unit = if (buckets.notWhole > 0) {
    val key = new RecordBuffer(assigner)
    var keys = 0
    var number = 0
    while (number < assigner.numBuckets && keys < KeysTogether) {
      if (filled.get(number) != null) {
        val read = filled.getAndSet(number, null)
        val bucket = buckets.known(number)
        if (isOfNow(read) && !bucket.isWhole) {
          keys += bucket.size
          BucketCompletion.of(bucket, read.bucket, key, spec)
          buckets.wholeAgain()
        }
      }
      number += 1
    }
  }

  private def isOfNow(read: FilledBucket): Boolean = read != null && read.floor == floor.version
}

private object BucketFills {

  /** Keys in memory of buckets that become whole with one version, about. */
  private final val KeysTogether = 50000
}
