package io.bucketstate.record

/** Takes one change of a family: in which bucket, which [[RecordOp]], and the record (of a removal, the key alone). */
trait ChangeSink {
  def apply(bucket: Int, op: Byte, record: Array[Byte]): Unit
}

/** What one version changed in one column family: the last write per key. */
trait FamilyChanges {
  def descriptor: FamilyDescriptor

  def numBuckets: Int

  /** Keys the family holds at this version, None if nobody has counted them. Never None where records have times. */
  def keyCount: Option[Long]

  /** Keys the family holds at this version by time bucket, where records have times. */
  def times: Option[TimeBuckets]

  /**
   * Hands out the changes by bucket, buckets in ascending order. The removal of a key that was not there before
   * this version is none, nor is that of what has expired at it; where keys are not counted, that is not known of
   * each. The records are the table's own, not to be written to. Allocates nothing.
   */
  def foreach(sink: ChangeSink): Unit

  /**
   * Hands out the changes as [[foreach]] does, at any time after the commit, to any thread. Removals of keys that were
   * not there before may be among them.
   */
  def replay(sink: ChangeSink): Unit = foreach(sink)
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
)
