package io.bucketstate.move.upsert

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.util.{ArrayBasedMapData, GenericArrayData}
import org.apache.spark.sql.types._

import io.bucketstate.testkit.TidySuite

class NullsSuite extends TidySuite {
  private val inner = new StructType().add("a", LongType).add("b", LongType, nullable = false)
  private val schema = new StructType()
    .add("n", LongType)
    .add("s", inner)
    .add("l", ArrayType(inner, containsNull = false))
    .add("m", MapType(LongType, LongType, valueContainsNull = false))

  private def list(all: Any*) = new GenericArrayData(all.toArray[Any])
  private def map(value: Any) = ArrayBasedMapData(Array[Any](1L), Array[Any](value))
  private val whole = InternalRow(1L, 2L)

  test("a null is found where the schema has none, however deep") {
    def found(s: Any, l: Any, m: Any): Option[String] = Nulls.in(InternalRow(null, s, l, m), schema)
    assert(found(whole, list(whole), map(3L)).isEmpty)
    assert(found(null, null, null).isEmpty)
    assert(found(InternalRow(null, 1L), list(), map(3L)).isEmpty)
    assert(found(InternalRow(1L, null), list(), map(3L)).contains("s.b"))
    assert(found(whole, list(whole, null), map(3L)).contains("l[1]"))
    assert(found(whole, list(InternalRow(1L, null)), map(3L)).contains("l[0].b"))
    assert(found(whole, list(), map(null)).contains("m[0]"))
  }
}
