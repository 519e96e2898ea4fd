package io.bucketstate.store

import io.bucketstate.checkpoint.records.BucketSource
import io.bucketstate.record.RecordSink
import io.bucketstate.table.FamilyState

/**
 * The whole state as memory has it at a version that stays readable until all is read; the writer may go on meanwhile.
 * For one thread.
 */
private[bucketstate] final class MemorySource(states: Seq[FamilyState], version: Long)
    extends BucketSource {
  private[this] val byFamily = states.map(s => s.spec.id -> s).toMap

  override def families: Iterable[Int] = byFamily.keys

  override def read(family: Int, bucket: Int, sink: RecordSink): Unit =
    byFamily(family).recordsOf(bucket, version).foreach(sink.put(_))
}
