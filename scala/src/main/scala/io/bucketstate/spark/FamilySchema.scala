package io.bucketstate.spark

import org.apache.spark.sql.execution.streaming.state.{KeyStateEncoderSpec, StateSchemaProvider}
import org.apache.spark.sql.types.StructType

import io.bucketstate.checkpoint.snapshot.FamilySchemas
import io.bucketstate.record.FamilyDescriptor
import io.bucketstate.spark.rows.{KeyCodecs, RowCodec, RowCodecs}

/**
 * A column family as Spark describes it when it makes one. Immutable.
 *
 * @param schemas of the query's families by their ids, where Spark lets the schemas of values change
 */
private[bucketstate] final case class FamilySchema(
    name: String,
    keySchema: StructType,
    valueSchema: StructType,
    keySpec: KeyStateEncoderSpec,
    multiValued: Boolean,
    isInternal: Boolean,
    schemas: Option[StateSchemaProvider]
) {

  /** What files say of the family under this number, so that a reader needs nothing else. */
  def descriptor(id: Int): FamilyDescriptor =
    FamilyDescriptor(id, name, KeyCodecs.name(keySpec), valueEncoding, isInternal)

  /** For values, or for each of them where there are several. */
  def newRowCodec(): RowCodec = RowCodecs.of(name, valueSchema, schemas)

  /** For who reads the checkpoint without the query. */
  def json: FamilySchemas = FamilySchemas(keySchema.json, valueSchema.json)

  private def valueEncoding: String =
    RowCodecs.name(multiValued, evolves = schemas.isDefined)
}
