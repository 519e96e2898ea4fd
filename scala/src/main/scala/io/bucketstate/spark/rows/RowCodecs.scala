package io.bucketstate.spark.rows

import org.apache.spark.sql.execution.streaming.state.StateSchemaProvider
import org.apache.spark.sql.types.StructType

import io.bucketstate.checkpoint.records.FamilyEncodings

/** Which codec values of a family have, and what files call it. */
private[spark] object RowCodecs {

  /** @param schemas of families by their ids, where rows may be of older ones */
  def of(family: String, schema: StructType, schemas: Option[StateSchemaProvider]): RowCodec =
    schemas match {
      case Some(byId) => new EvolvingRowCodec(family, schema, byId)
      case None       => new CompactRowCodec(schema, RowShape.valuesOf(family))
    }

  /** The name that files record; a family that comes back with another one cannot be read. */
  def name(multiValued: Boolean, evolves: Boolean): String =
    if (evolves) {
      if (multiValued) FamilyEncodings.EvolvingRows else FamilyEncodings.EvolvingRow
    } else if (multiValued) FamilyEncodings.CompactRows
    else FamilyEncodings.CompactRow
}
