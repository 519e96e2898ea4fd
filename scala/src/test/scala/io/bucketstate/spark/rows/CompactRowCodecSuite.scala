package io.bucketstate.spark.rows

import java.util.{Arrays => JArrays}

import scala.util.Random

import org.apache.spark.sql.catalyst.expressions.{GenericInternalRow, UnsafeProjection, UnsafeRow}
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.Platform
import org.apache.spark.unsafe.types.UTF8String

import io.bucketstate.error.CorruptException
import io.bucketstate.testkit.TidySuite

class CompactRowCodecSuite extends TidySuite {
  import RandomRows._

  private def codecOf(schema: StructType) = new CompactRowCodec(schema, "A value of the test")

  private def encode(codec: CompactRowCodec, row: UnsafeRow, offset: Int): Array[Byte] = {
    val target = new Array[Byte](offset + codec.maxSize(row))
    JArrays.fill(target, 0x55.toByte) // the codec must not rely on zeroes
    val end = codec.encode(row, target, offset)
    JArrays.copyOfRange(target, offset, end)
  }

  test("what is decoded is, byte for byte, what was encoded, for random schemas of all types") {
    val r = new Random(7)
    for (_ <- 1 to 150) {
      val schema = randomSchema(r)
      val project = UnsafeProjection.create(schema)
      val codec = codecOf(schema)
      for (_ <- 1 to 20) {
        val row = project(randomRow(schema, r)).copy()
        val bytes = encode(codec, row, r.nextInt(9))
        val back = codec.decode(bytes, 0, bytes.length, new UnsafeRow(schema.length))
        assert(back == row && back.hashCode == row.hashCode, schema.catalogString)
      }
    }
  }

  test("equal rows have equal encodings wherever they lie in memory") {
    val schema = new StructType().add("a", IntegerType).add("b", StringType)
    val codec = codecOf(schema)
    val row = UnsafeProjection
      .create(schema)
      .apply(new GenericInternalRow(Array[Any](-5, UTF8String.fromString("tail"))))
      .copy()
    val elsewhere = new Array[Byte](row.getSizeInBytes + 40)
    row.writeToMemory(elsewhere, Platform.BYTE_ARRAY_OFFSET + 24L)
    val moved = new UnsafeRow(2)
    moved.pointTo(elsewhere, Platform.BYTE_ARRAY_OFFSET + 24L, row.getSizeInBytes)
    assert(encode(codec, row, 0) sameElements encode(codec, moved, 3))
  }

  test("the number of fields that a row claims changes nothing: its bytes do") {
    val r = new Random(11)
    for (_ <- 1 to 100) {
      val schema = randomSchema(r)
      val codec = codecOf(schema)
      val row = UnsafeProjection.create(schema)(randomRow(schema, r)).copy()
      for (claimed <- Seq(schema.length - 1, schema.length + 1)) {
        val view = new UnsafeRow(claimed)
        view.pointTo(row.getBytes, row.getSizeInBytes)
        assert(encode(codec, view, 0) sameElements encode(codec, row, 0), schema.catalogString)
      }
    }
  }

  test(
    "rows of other fields than the schema's keep their bytes if the schema fits them, else are refused"
  ) {
    val r = new Random(12)
    val fit = (1 to 300).count { _ =>
      val schema = randomSchema(r)
      val codec = codecOf(schema)
      val other = randomSchema(r)
      val row = UnsafeProjection.create(other)(randomRow(other, r)).copy()
      val bytes = encode(codec, row, r.nextInt(9))
      def back = codec.decode(bytes, 0, bytes.length, new UnsafeRow(other.length))
      // Who reads it by the schema must not be led beyond it.
      val fits = RowShape.of(schema).fits(row.getBytes, 0, row.getSizeInBytes)
      if (fits) assert(back.getBytes sameElements row.getBytes, other.catalogString)
      else withClue(other.catalogString)(intercept[CorruptException](back))
      fits
    }
    assert(fit > 0 && fit < 300)
  }

  test("a row that is not laid out as Spark's writers lay it out keeps its bytes") {
    val schema = new StructType().add("a", IntegerType).add("b", StringType)
    val codec = codecOf(schema)
    val row = UnsafeProjection
      .create(schema)
      .apply(new GenericInternalRow(Array[Any](1, UTF8String.fromString("abc"))))
      .copy()
    val last = row.getBytes.clone()
    last(row.getSizeInBytes - 1) = 9 // garbage in the padding
    val odd = new UnsafeRow(2)
    odd.pointTo(last, last.length)
    val bytes = encode(codec, odd, 0)
    val back = codec.decode(bytes, 0, bytes.length, new UnsafeRow(2))
    assert(back.getBytes sameElements last)
    assert(!(bytes sameElements encode(codec, row, 0)))
  }

  test("a flat row shrinks") {
    val schema = new StructType().add("a", LongType).add("b", StringType)
    val codec = codecOf(schema)
    val row = UnsafeProjection
      .create(schema)
      .apply(new GenericInternalRow(Array[Any](1L, UTF8String.fromString("user-000001"))))
    assert(row.getSizeInBytes == 40)
    assert(encode(codec, row, 0).length == 22)
  }

  test("who reads no columns gets rows without columns") {
    val written = new StructType().add("a", NullType)
    val row = UnsafeProjection.create(written).apply(new GenericInternalRow(Array[Any](null)))
    val bytes = encode(codecOf(written), row, 0)
    val back =
      codecOf(new StructType).decode(bytes, 0, bytes.length, new UnsafeRow(0))
    assert(back.numFields == 0 && back.getSizeInBytes == 0)
  }

  test("bytes of another schema are an error, not a crash or a wrong row") {
    val written = new StructType().add("a", LongType).add("b", StringType)
    val expected = new StructType().add("a", StringType).add("b", LongType).add("c", StringType)
    val row = UnsafeProjection
      .create(written)
      .apply(new GenericInternalRow(Array[Any](Long.MaxValue, UTF8String.fromString("x" * 30))))
    val bytes = encode(codecOf(written), row, 0)
    val error = intercept[CorruptException](
      codecOf(expected).decode(bytes, 0, bytes.length, new UnsafeRow(3))
    )
    assert(error.getMessage.contains("schema"))
  }
}
