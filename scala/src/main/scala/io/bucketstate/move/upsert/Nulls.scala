package io.bucketstate.move.upsert

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.util.{ArrayData, MapData}
import org.apache.spark.sql.types.{ArrayType, DataType, MapType, StructType}

/** Nulls where a schema has none. Spark's operators do not look for them there, and would take them for zeros. */
private[move] object Nulls {

  /** The path of a null in the row that is none of the schema's, None without such. */
  def in(row: InternalRow, schema: StructType): Option[String] =
    schema.fields.iterator.zipWithIndex
      .flatMap { case (field, i) =>
        if (row.isNullAt(i)) Option.when(!field.nullable)(field.name)
        else within(row.get(i, field.dataType), field.dataType).map(rest => s"${field.name}$rest")
      }
      .nextOption()

  private def within(value: Any, dataType: DataType): Option[String] = (dataType, value) match {
    case (schema: StructType, row: InternalRow)         => in(row, schema).map(rest => s".$rest")
    case (ArrayType(element, hasNulls), all: ArrayData) => inAll(all, element, hasNulls)
    case (MapType(_, value, hasNulls), map: MapData)    =>
      inAll(map.valueArray(), value, hasNulls)
    case _ => None
  }

  private def inAll(all: ArrayData, element: DataType, hasNulls: Boolean): Option[String] =
    Iterator
      .range(0, all.numElements())
      .flatMap { i =>
        if (all.isNullAt(i)) Option.when(!hasNulls)(s"[$i]")
        else within(all.get(i, element), element).map(rest => s"[$i]$rest")
      }
      .nextOption()
}
