package io.bucketstate.spark

import org.apache.spark.sql.execution.streaming.state.{
  KeyStateEncoderSpec,
  StateStore,
  StateStoreId
}
import org.apache.spark.sql.types.StructType

/**
 * What Spark says of a store when it makes its provider.
 *
 * @param multiValued whether keys of the default family may have several values
 */
private[bucketstate] final case class StoreDefinition(
    id: StateStoreId,
    keySchema: StructType,
    valueSchema: StructType,
    keySpec: KeyStateEncoderSpec,
    useColumnFamilies: Boolean,
    multiValued: Boolean
) {
  def default: FamilySchema = FamilySchema(
    StateStore.DEFAULT_COL_FAMILY_NAME,
    keySchema,
    valueSchema,
    keySpec,
    multiValued,
    isInternal = false
  )
}
