package io.bucketstate.table

import io.bucketstate.record.{BucketAssigner, BucketResidence, FamilySpec}
import io.bucketstate.table.bucket.Bucket
import io.bucketstate.table.cold.{FamilyBuckets, Floor}
import io.bucketstate.table.version.Versions

/** What each bucket of a family holds in memory, and how it comes to hold less. `evict` is the writer's. */
private[table] final class FamilyEviction(
    spec: FamilySpec,
    assigner: BucketAssigner,
    buckets: FamilyBuckets,
    floor: Floor,
    versions: Versions
) {
  private[this] var evictions = 0L

  def evict(number: Int): Long = {
    val bucket = if (floor.canEvict) buckets.loaded(number) else null
    if (bucket == null || !bucket.canEvict(floor.stamp)) 0L
    else {
      val before = bucket.heap
      val wasWhole = bucket.isWhole
      evictions += 1
      bucket.evict(floor.stamp, evictions)
      if (wasWhole && !bucket.isWhole) buckets.notWholeAnyMore()
      before - bucket.heap
    }
  }

  def residences: Seq[BucketResidence] =
    (0 until assigner.numBuckets).flatMap(n => Option(buckets.loaded(n)).map(residence(n, _)))

  private def residence(number: Int, bucket: Bucket): BucketResidence = {
    val bytes = bucket.heap
    val last = bucket.lastEviction
    val evictable =
      if (!floor.canEvict || !bucket.canEvict(floor.stamp)) 0L
      else if (last.floor == floor.stamp) bytes - last.heap
      else bytes
    val lastUse = versions.absolute(buckets.lastUse(number))
    new BucketResidence(spec.id, number, bytes, evictable, lastUse, last.number)
  }
}
