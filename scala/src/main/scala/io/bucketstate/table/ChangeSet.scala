package io.bucketstate.table

/**
 * What one version changed in one column family: the last write per key, grouped by bucket.
 *
 * @param descriptor   the family
 * @param entries      the writes; those of bucket b are `entries(bucketStart(b)) until bucketStart(b + 1)`
 * @param bucketStart  length numBuckets + 1
 * @param keyCount     keys the column family holds at this version, counted exactly
 */
final class FamilyChanges(
    val descriptor: FamilyDescriptor,
    val entries: Array[Entry],
    val bucketStart: Array[Int],
    val keyCount: Long
) {
  def size: Int = entries.length
}

/**
 * What one version changed in all column families, in ascending order of their numbers.
 *
 * @param nextFamily the number that the next new family gets
 */
final class ChangeSet(
    val version: Long,
    val families: IndexedSeq[FamilyChanges],
    val nextFamily: Int
) {
  def size: Int = {
    var n = 0
    families.foreach(f => n += f.size)
    n
  }
}
