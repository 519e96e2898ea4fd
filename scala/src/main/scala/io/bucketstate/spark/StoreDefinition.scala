package io.bucketstate.spark

import org.apache.spark.sql.execution.streaming.state.{
  KeyStateEncoderSpec,
  StateSchemaProvider,
  StateStore,
  StateStoreId
}
import org.apache.spark.sql.types.StructType

/**
 * What Spark says of a store when it makes its provider.
 *
 * @param multiValued whether keys of the default family may have several values
 * @param schemas     of the query's families by their ids, where Spark lets the schemas of values change
 */
private[bucketstate] final case class StoreDefinition(
    id: StateStoreId,
    keySchema: StructType,
    valueSchema: StructType,
    keySpec: KeyStateEncoderSpec,
    useColumnFamilies: Boolean,
    multiValued: Boolean,
    schemas: Option[StateSchemaProvider]
) {
  def default: FamilySchema = FamilySchema(
    StateStore.DEFAULT_COL_FAMILY_NAME,
    keySchema,
    valueSchema,
    keySpec,
    multiValued,
    isInternal = false,
    schemas
  )
}
