package io.bucketstate.move.read

import io.bucketstate.record.FamilySpec
import io.bucketstate.spark.rows.{KeyCodec, KeyCodecs, RowSpace}

/** Keys of a family of this project's files, as bytes and back. Not thread-safe. */
private[bucketstate] final class OwnKeys(family: SourceFamily, spec: FamilySpec) {
  val codec: KeyCodec =
    KeyCodecs.forSpec(family.name, family.spec, family.valueSchema, spec.bucketKey)

  val space: RowSpace = new RowSpace(family.keySchema.length)
}
