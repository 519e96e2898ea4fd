package io.bucketstate.checkpoint.records

import io.bucketstate.bucket.BucketAssigner
import io.bucketstate.table.{FamilySpec, Record}

/** Which bucket a record of one of these families is of. Thread-safe. */
private[bucketstate] final class RecordPlaces(
    assigner: BucketAssigner,
    families: Iterable[FamilySpec]
) extends ((Int, Array[Byte]) => Int) {
  private[this] val bucketKeys = families.map(spec => spec.id -> spec.bucketKey).toMap

  override def apply(family: Int, record: Array[Byte]): Int = {
    val from = Record.keyStart(record)
    val end = bucketKeys(family).end(record, from, Record.keyEnd(record))
    assigner.bucket(assigner.hash(record, from, end))
  }
}
