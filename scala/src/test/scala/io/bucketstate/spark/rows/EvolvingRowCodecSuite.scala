package io.bucketstate.spark.rows

import org.apache.spark.sql.Row
import org.apache.spark.sql.catalyst.expressions.{UnsafeProjection, UnsafeRow}
import org.apache.spark.sql.catalyst.{CatalystTypeConverters, InternalRow}
import org.apache.spark.sql.execution.streaming.state.TestStateSchemaProvider
import org.apache.spark.sql.types._
import org.scalacheck.Gen
import org.scalatest.tags.Slow
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks

import io.bucketstate.error.CorruptException
import io.bucketstate.record.{BucketAssigner, RecordBuffer}
import io.bucketstate.testkit.TidySuite

@Slow
class EvolvingRowCodecSuite extends TidySuite with ScalaCheckPropertyChecks {
  import EvolvingRowCodecSuite._

  private def schemas(byId: (Int, StructType)*) = {
    val provider = new TestStateSchemaProvider
    byId.foreach { case (id, schema) =>
      provider.captureSchema(Family, Keys, schema, valueSchemaId = id.toShort)
    }
    provider
  }

  private def codec(newest: StructType, byId: (Int, StructType)*) =
    new EvolvingRowCodec(Family, newest, schemas(byId: _*))

  private def encoded(codec: EvolvingRowCodec, row: UnsafeRow): Array[Byte] = {
    val space = new Array[Byte](codec.maxSize(row) + 3)
    space.slice(3, codec.encode(row, space, 3))
  }

  for (id <- Seq(0, 1, 127, 128, 16384, Short.MaxValue.toInt))
    test(s"a row of the newest schema comes back byte by byte behind its id $id") {
      val evolving = codec(Before, id -> Before)
      val space = new RowSpace(Before.length)
      forAll(befores) { values =>
        val row = unsafe(values, Before)
        val bytes = encoded(evolving, row)
        assert(evolving.decode(bytes, 0, bytes.length, new UnsafeRow(Before.length)) == row)
        assert(evolving.decode(bytes, 0, bytes.length, space) == row)
      }
    }

  test(
    "a row of an older schema has its fields by name: wider, without what went, null for what came"
  ) {
    val older = codec(Before, 0 -> Before)
    val newer = codec(After, 0 -> Before, 200 -> After)
    val space = new RowSpace(After.length)
    forAll(befores) { before =>
      val bytes = encoded(older, unsafe(before, Before))
      val expected = unsafe(evolved(before), After)
      val row = newer.decode(bytes, 0, bytes.length, new UnsafeRow(After.length))
      assert(row == expected)
      assert(newer.decode(bytes, 0, bytes.length, space) == expected)
      val again = newer.decode(bytes, 0, bytes.length, new UnsafeRow(After.length))
      assert((row eq again) || (row.getBaseObject ne again.getBaseObject), "bytes of its own")
    }
  }

  test("a list holds rows of several schemas") {
    val older = codec(Before, 0 -> Before)
    val newer = codec(After, 0 -> Before, 1 -> After)
    forAll(Gen.listOf(befores), Gen.listOf(befores)) { (first, then) =>
      val buffer = new RecordBuffer(new BucketAssigner(1))
      val old = new RowListCodec(older, Before.length)
      val now = new RowListCodec(newer, After.length)
      def listOf(codec: RowListCodec, rows: Seq[UnsafeRow]): Array[Byte] = {
        new CompactKeyCodec(Keys, "A key of the test").encode(unsafe(Row("k"), Keys), buffer)
        codec.encodeAll(rows.toArray, buffer)
        buffer.toRecord.drop(buffer.keyLength)
      }
      val all = listOf(old, first.map(unsafe(_, Before))) ++
        listOf(now, then.map(row => unsafe(evolved(row), After)))
      assert(
        now.all(all, 0).map(_.copy()).toSeq == (first ++ then).map(row =>
          unsafe(evolved(row), After)
        )
      )
    }
  }

  test(
    "a row of a schema that Spark does not know, or of none, is refused by the variable's name"
  ) {
    val bytes = encoded(codec(Before, 7 -> Before), unsafe(Row.fromSeq(Seq.fill(6)(null)), Before))
    for (
      (damaged, problem) <- Seq(bytes -> "its schema id is 7", Array.empty[Byte] -> "no schema id")
    ) {
      val newer = codec(After, 0 -> Before, 8 -> After)
      val error = intercept[CorruptException] {
        newer.decode(damaged, 0, damaged.length, new UnsafeRow(After.length))
      }
      assert(error.getMessage.contains(s"'$Family'"))
      assert(error.getMessage.contains(problem))
    }
  }
}

object EvolvingRowCodecSuite {
  private val Family = "seen"
  private val Keys = new StructType().add("k", StringType)

  private val Before = new StructType()
    .add("count", IntegerType)
    .add("name", StringType)
    .add("gone", DoubleType)
    .add("place", new StructType().add("x", IntegerType))
    .add("all", ArrayType(IntegerType))
    .add("ratio", FloatType)

  private val After = new StructType()
    .add("came", StringType)
    .add("ratio", DoubleType)
    .add("name", StringType)
    .add("place", new StructType().add("y", LongType).add("x", LongType))
    .add("count", LongType)
    .add("all", ArrayType(LongType))

  private val befores: Gen[Row] = {
    val int = Gen.chooseNum(Int.MinValue, Int.MaxValue)
    def orNull[A](gen: Gen[A]): Gen[Any] = Gen.frequency(4 -> gen, 1 -> Gen.const(null))
    for {
      count <- orNull(int)
      name <- orNull(Gen.alphaNumStr)
      gone <- orNull(Gen.double)
      place <- orNull(orNull(int).map(Row(_)))
      all <- orNull(Gen.listOf(orNull(int)))
      ratio <- orNull(Gen.chooseNum(-1e6f, 1e6f))
    } yield Row(count, name, gone, place, all, ratio)
  }

  private def evolved(before: Row): Row = {
    def long(value: Any): Any = if (value == null) null else value.asInstanceOf[Int].toLong
    val place = before.getAs[Row](3)
    val all = before.getAs[Seq[Any]](4)
    Row(
      null,
      if (before.isNullAt(5)) null else before.getFloat(5).toDouble,
      before.get(1),
      if (place == null) null else Row(null, long(place.get(0))),
      long(before.get(0)),
      if (all == null) null else all.map(long)
    )
  }

  private def unsafe(row: Row, schema: StructType): UnsafeRow = {
    val converter = CatalystTypeConverters.createToCatalystConverter(schema)
    UnsafeProjection.create(schema)(converter(row).asInstanceOf[InternalRow]).copy()
  }
}
