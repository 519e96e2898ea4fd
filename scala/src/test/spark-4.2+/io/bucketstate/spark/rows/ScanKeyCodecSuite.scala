package io.bucketstate.spark.rows

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{GenericInternalRow, UnsafeProjection, UnsafeRow}
import org.apache.spark.sql.execution.streaming.state._
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String
import org.scalacheck.Gen
import org.scalactic.anyvals.PosInt
import org.scalatest.tags.Slow
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks

import io.bucketstate.record.{BucketAssigner, BucketKey, RecordBuffer}
import io.bucketstate.testkit.{Seeds, TidySuite}

/** Keys that are scanned by a part of them: the same bytes as Spark's own encoders give, and the key back. */
@Slow
class ScanKeyCodecSuite extends TidySuite with ScalaCheckPropertyChecks {
  import ScanKeyCodecSuite._

  implicit override val generatorDrivenConfig: PropertyCheckConfiguration =
    PropertyCheckConfiguration(minSuccessful = PosInt.from(Seeds.of(100, 4000)).get)

  private def check(specs: Gen[KeyStateEncoderSpec], bucketKey: BucketKey): Unit =
    forAll(specs.flatMap(spec => Gen.listOfN(3, rowOf(spec.keySchema)).map(spec -> _))) {
      case (spec, keys) =>
        val codec = KeyCodecs.forSpec("keys", spec, NoValue, bucketKey)
        assert(codec.isInstanceOf[ScanKeyCodec])
        val sparks = KeyCodecs.ofSpark("keys", spec, NoValue, bucketKey)
        val flags = (codec.scansPrefixes, codec.scansRanges, codec.removesRanges)
        assert(flags == ((sparks.scansPrefixes, sparks.scansRanges, sparks.removesRanges)))
        val toUnsafe = UnsafeProjection.create(spec.keySchema)
        val buffer = new RecordBuffer(new BucketAssigner(4))
        val space = new RowSpace(codec.numFields)
        keys.foreach { values =>
          val key = toUnsafe(values).copy()
          val expected = sparks.encodeKey(key).toSeq
          assert(codec.encodeKey(key).toSeq == expected)
          codec.encode(key, buffer)
          val bytes = new Array[Byte](buffer.keyBytes)
          buffer.copyKey(bytes, 0)
          assert(bytes.toSeq == expected)
          assert(codec.decode(buffer.toKeyRecord, space) == key)
          prefixOf(spec, key).foreach { prefix =>
            assert(codec.encodePrefix(prefix).toSeq == sparks.encodePrefix(prefix).toSeq)
          }
        }
    }

  test("prefixes") {
    check(
      for {
        schema <- schemas(2)
        n <- Gen.choose(1, schema.length - 1)
      } yield PrefixKeyScanStateEncoderSpec(schema, n),
      BucketKey.LengthPrefixed
    )
  }

  test("ranges, with nulls, negative numbers and fractions, in any order of columns") {
    check(
      for {
        ordered <- Gen.choose(1, 4).flatMap(Gen.listOfN(_, fieldOf(orderedTypes)))
        others <- Gen.choose(0, 4).flatMap(Gen.listOfN(_, fieldOf(types)))
        places <- shuffled(ordered.size + others.size)
      } yield {
        val fields = (ordered ++ others).zip(places).sortBy(_._2).map(_._1)
        RangeKeyScanStateEncoderSpec(named(fields), places.take(ordered.size))
      },
      BucketKey.Whole
    )
  }

  test("timestamps in front of keys and behind them") {
    val stamped = schemas(1).map(TimestampKeyStateEncoder.keySchemaWithTimestamp)
    check(stamped.map(TimestampAsPrefixKeyStateEncoderSpec(_)), BucketKey.Whole)
    check(stamped.map(TimestampAsPostfixKeyStateEncoderSpec(_)), BucketKey.BeforeTimestamp)
  }

  test("other types are left to Spark's encoders") {
    val schema = new StructType().add("a", LongType).add("b", ArrayType(LongType))
    Seq(
      PrefixKeyScanStateEncoderSpec(schema, 1),
      RangeKeyScanStateEncoderSpec(schema, Seq(0)),
      RangeKeyScanStateEncoderSpec(
        new StructType().add("a", BooleanType).add("b", LongType),
        Seq(0)
      )
    ).foreach { spec =>
      assert(KeyCodecs.forSpec("keys", spec, NoValue, BucketKey.Whole).isInstanceOf[SparkKeyCodec])
    }
  }
}

object ScanKeyCodecSuite {
  private val NoValue = new StructType().add("v", NullType)

  private val orderedTypes =
    Seq(ByteType, ShortType, IntegerType, LongType, FloatType, DoubleType)
  private val flatTypes = orderedTypes ++
    Seq(BooleanType, DateType, TimestampType, TimestampNTZType, StringType, BinaryType)
  private val types = flatTypes ++ Seq(
    new StructType().add("s", StringType).add("l", LongType),
    new StructType().add("d", ArrayType(StringType)).add("i", DecimalType(30, 6)),
    new StructType()
  )

  private def fieldOf(of: Seq[DataType]): Gen[StructField] = for {
    dataType <- Gen.oneOf(of)
    nullable <- Gen.oneOf(true, false)
  } yield StructField("f", dataType, nullable)

  private def named(fields: Seq[StructField]): StructType =
    StructType(fields.zipWithIndex.map { case (field, i) => field.copy(name = s"f$i") })

  private def schemas(least: Int): Gen[StructType] =
    Gen.choose(least, 10).flatMap(Gen.listOfN(_, fieldOf(types))).map(named)

  private def shuffled(n: Int): Gen[Seq[Int]] =
    Gen.listOfN(n, Gen.choose(0, 1000000)).map(_.zipWithIndex.sorted.map(_._2))

  private def rowOf(schema: StructType): Gen[InternalRow] =
    Gen
      .sequence[Seq[Any], Any](schema.map(valueOf))
      .map(values => new GenericInternalRow(values.toArray))

  private def valueOf(field: StructField): Gen[Any] = {
    val present: Gen[Any] = field.dataType match {
      case BooleanType                                 => Gen.oneOf(true, false)
      case ByteType                                    => Gen.choose(Byte.MinValue, Byte.MaxValue)
      case ShortType                                   => Gen.choose(Short.MinValue, Short.MaxValue)
      case IntegerType | DateType                      => Gen.chooseNum(Int.MinValue, Int.MaxValue)
      case LongType | TimestampType | TimestampNTZType =>
        Gen.chooseNum(Long.MinValue, Long.MaxValue)
      case FloatType =>
        Gen.oneOf(Gen.choose(-1e9f, 1e9f), Gen.oneOf(0f, -0f, Float.NaN, Float.NegativeInfinity))
      case DoubleType =>
        Gen.oneOf(Gen.choose(-1e9, 1e9), Gen.oneOf(0d, -0d, Double.NaN, Double.PositiveInfinity))
      case StringType       => Gen.alphaNumStr.map(UTF8String.fromString)
      case BinaryType       => Gen.listOf(Gen.choose(Byte.MinValue, Byte.MaxValue)).map(_.toArray)
      case ArrayType(of, _) =>
        Gen.listOf(valueOf(StructField("e", of))).map { all =>
          new org.apache.spark.sql.catalyst.util.GenericArrayData(all.toArray[Any])
        }
      case d: DecimalType =>
        Gen
          .choose(-1000000L, 1000000L)
          .map(n => Decimal(BigDecimal(n, d.scale), d.precision, d.scale))
      case s: StructType => rowOf(s)
      case other         => throw new IllegalArgumentException(other.toString)
    }
    if (field.nullable) Gen.frequency(4 -> present, 1 -> Gen.const(null)) else present
  }

  /** What Spark would scan by, to find the key. */
  private def prefixOf(spec: KeyStateEncoderSpec, key: UnsafeRow): Option[UnsafeRow] = {
    val columns = spec match {
      case PrefixKeyScanStateEncoderSpec(_, n)          => Some(0 until n)
      case RangeKeyScanStateEncoderSpec(_, order)       => Some(order)
      case TimestampAsPostfixKeyStateEncoderSpec(ofKey) => Some(0 until ofKey.length - 1)
      case _                                            => None
    }
    columns.map { which =>
      val schema = spec.keySchema
      val values = which.map(i => key.get(i, schema(i).dataType))
      UnsafeProjection.create(StructType(which.map(schema(_))))(InternalRow.fromSeq(values)).copy()
    }
  }
}
