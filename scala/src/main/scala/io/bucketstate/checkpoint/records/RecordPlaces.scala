package io.bucketstate.checkpoint.records

import io.bucketstate.record.{BucketAssigner, BucketKey, FamilySpec, Record}

/** Which bucket a record of these families is of, where that is not written down beside it. Thread-safe. */
private[bucketstate] final class RecordPlaces(
    assigner: BucketAssigner,
    families: Iterable[FamilySpec]
) {
  private[this] val bucketKeys = // by the family's number; null where there is no such family
    new Array[BucketKey](families.foldLeft(0)((most, spec) => Math.max(most, spec.id + 1)))
  families.foreach(spec => bucketKeys(spec.id) = spec.bucketKey)

  /** @param offset where the record begins among the bytes */
  def apply(family: Int, bytes: Array[Byte], offset: Int): Int = {
    val from = Record.keyStart(bytes, offset)
    val end = bucketKeys(family).end(bytes, from, Record.keyEnd(bytes, offset))
    assigner.bucket(assigner.hash(bytes, from, end))
  }
}
