package io.bucketstate.spark

import org.apache.spark.sql.execution.streaming.state.KeyStateEncoderSpec
import org.apache.spark.sql.types.StructType

import io.bucketstate.checkpoint.records.FamilyEncodings
import io.bucketstate.checkpoint.snapshot.FamilySchemas
import io.bucketstate.spark.rows.KeyCodecs
import io.bucketstate.table.FamilyDescriptor

/** A column family as Spark describes it when it makes one. Immutable. */
private[spark] final case class FamilySchema(
    name: String,
    keySchema: StructType,
    valueSchema: StructType,
    keySpec: KeyStateEncoderSpec,
    multiValued: Boolean,
    isInternal: Boolean
) {

  /** What files say of the family under this number, so that a reader needs nothing else. */
  def descriptor(id: Int): FamilyDescriptor =
    FamilyDescriptor(id, name, KeyCodecs.name(keySpec), valueEncoding, isInternal)

  /** For who reads the checkpoint without the query. */
  def json: FamilySchemas = FamilySchemas(keySchema.json, valueSchema.json)

  private def valueEncoding: String =
    if (multiValued) FamilyEncodings.CompactRows else FamilyEncodings.CompactRow
}
