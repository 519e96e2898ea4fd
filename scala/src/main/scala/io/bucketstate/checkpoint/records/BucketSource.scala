package io.bucketstate.checkpoint.records

import io.bucketstate.record.{ColdState, RecordSink}

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

  /** The state at a version outside the table, which nobody releases before all is read. */
  def ofCold(all: Iterable[Int], state: ColdState): BucketSource = new BucketSource {
    def families: Iterable[Int] = all

    def read(family: Int, bucket: Int, sink: RecordSink): Unit = state.scan(family, bucket, sink)
  }
}
