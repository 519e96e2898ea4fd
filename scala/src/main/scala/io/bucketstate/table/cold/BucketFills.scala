package io.bucketstate.table.cold

import java.util.concurrent.atomic.{AtomicLong, AtomicReferenceArray}

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
  private[this] val bytes = new AtomicLong

  /** The heap of what was read and is not part of its bucket yet: other stores must not take it for room. Any thread. */
  def heap: Long = bytes.get

  /** Whether there are buckets that are not whole, and room for all of them. Any thread. */
  def isPossible: Boolean = buckets.notWhole > 0 && buckets.hasRoomBeside(heap)

  /** Reads a bucket that is not whole, if that is possible; true if it did. Any thread. */
  def read(number: Int): Boolean = {
    val bucket = buckets.loaded(number)
    val isWanted =
      bucket != null && !bucket.capture().isWhole && isPossible && !isOfNow(filled.get(number))
    if (isWanted) put(number, cold.bucketAtFloor(number, newIndex))
    isWanted
  }

  private def put(number: Int, read: FilledBucket): FilledBucket = {
    val before = filled.getAndSet(number, read)
    bytes.addAndGet(heapOf(read) - heapOf(before))
    before
  }

  /**
   * What was read becomes part of its buckets, if the floor is still the same: a key may have left memory because a
   * later one has it. So much at a time that nobody waits for it. The writer's.
   */
  def take(): Unit = if (buckets.notWhole > 0 || heap > 0) {
    val key = new RecordBuffer(assigner)
    var keys = 0
    var number = 0
    while (number < assigner.numBuckets && keys < KeysTogether) {
      if (filled.get(number) != null) {
        val read = put(number, null)
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

  private def heapOf(read: FilledBucket): Long = if (read == null) 0L else read.heap
}
