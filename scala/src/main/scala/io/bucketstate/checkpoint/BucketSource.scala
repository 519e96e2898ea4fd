package io.bucketstate.checkpoint

import io.bucketstate.table.{FamilyState, RecordOp, RecordSink}

/**
 * Records that can be had bucket by bucket, each key at most once, in no order inside a bucket: a
 * changelog, or the whole state as memory has it at a version.
 */
trait BucketSource {

  /** The families that may have records. */
  def families: Iterable[Int]

  /** Hands out a bucket's records. Asked for in ascending order of family and bucket, once each. */
  def read(family: Int, bucket: Int, sink: RecordSink): Unit
}

object BucketSource {

  /**
   * What an opened changelog holds.
   *
   * @param path     of the changelog, for messages
   * @param bucketOf the bucket of a family's record
   */
  def ofChangelog(
      reader: ChangelogReader,
      path: String,
      bucketOf: (Int, Array[Byte]) => Int
  ): BucketSource = new BucketSource {
    private val buckets = new ChangelogBuckets(use => use(reader), reader.blocks, path, bucketOf)

    def families: Iterable[Int] = reader.families.map(_.descriptor.id)

    def read(family: Int, bucket: Int, sink: RecordSink): Unit = buckets.read(family, bucket, sink)
  }

  /** The state at a version that stays readable until all is read; the writer may go on meanwhile. */
  def ofState(states: Seq[FamilyState], version: Long): BucketSource = new BucketSource {
    private val byFamily = states.map(s => s.spec.id -> s).toMap

    def families: Iterable[Int] = byFamily.keys

    def read(family: Int, bucket: Int, sink: RecordSink): Unit =
      byFamily(family).recordsOf(bucket, version).foreach(sink(_, RecordOp.Put))
  }
}
