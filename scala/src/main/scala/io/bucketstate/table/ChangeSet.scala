package io.bucketstate.table

/**
 * What one version changed in one column family: the last write per key, grouped by bucket.
 *
 * @param family       number of the column family in the store, 0 is `default`
 * @param entries      the writes; those of bucket b are `entries(bucketStart(b)) until bucketStart(b + 1)`
 * @param bucketStart  length numBuckets + 1
 * @param keyCount     keys the column family holds at this version, counted exactly
 */
final class FamilyChanges(
    val family: Int,
    val entries: Array[Entry],
    val bucketStart: Array[Int],
    val keyCount: Long
) {
  def size: Int = entries.length
}

/** What one version changed in all column families, in ascending order of their numbers. */
final class ChangeSet(val version: Long, val families: IndexedSeq[FamilyChanges]) {
  def size: Int = {
    var n = 0
    families.foreach(f => n += f.size)
    n
  }
}
