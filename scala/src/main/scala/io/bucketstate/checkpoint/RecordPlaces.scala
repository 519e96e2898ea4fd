package io.bucketstate.checkpoint

import io.bucketstate.bucket.BucketAssigner
import io.bucketstate.table.Record

/** Which bucket a family's record is of. Thread-safe. */
private[checkpoint] final class RecordPlaces(assigner: BucketAssigner, families: KnownFamilies)
    extends ((Int, Array[Byte]) => Int) {
  private[this] val bucketKeys = families.all.map { case (spec, _) =>
    spec.id -> spec.bucketKey
  }.toMap

  override def apply(family: Int, record: Array[Byte]): Int = {
    val from = Record.keyStart(record)
    val end = bucketKeys(family).end(record, from, Record.keyEnd(record))
    assigner.bucket(assigner.hash(record, from, end))
  }
}
