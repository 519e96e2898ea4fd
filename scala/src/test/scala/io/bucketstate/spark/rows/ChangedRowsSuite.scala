package io.bucketstate.spark.rows

import java.nio.{ByteBuffer, ByteOrder}

import scala.util.{Failure, Random, Success, Try}

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{SpecializedGetters, UnsafeProjection, UnsafeRow}
import org.apache.spark.sql.catalyst.util.ArrayData
import org.apache.spark.sql.execution.streaming.state.{
  KeyStateEncoderSpec,
  NoPrefixKeyStateEncoderSpec,
  PrefixKeyScanStateEncoderSpec,
  RangeKeyScanStateEncoderSpec
}
import org.apache.spark.sql.types._
import org.scalatest.tags.Slow

import io.bucketstate.error.CorruptException
import io.bucketstate.record.{BucketKey, Record}
import io.bucketstate.testkit.{Seeds, TidySuite}

/**
 * Rows whose bytes were changed are refused, or all of what is read in them lies within them: so it is the same
 * whatever bytes lie before and behind them.
 */
@Slow
class ChangedRowsSuite extends TidySuite {
  import ChangedRowsSuite._
  import RandomRows._

  private val rounds = Seeds.of(60, 1000)

  test("values") {
    val r = new Random(21)
    var (refused, read) = (0, 0)
    for (_ <- 1 to rounds) {
      val schema = randomSchema(r)
      val codec = new CompactRowCodec(schema, "A value of the test")
      val row = UnsafeProjection.create(schema)(randomRow(schema, r)).copy()
      val compact = new Array[Byte](codec.maxSize(row))
      val end = codec.encode(row, compact, 0)
      for {
        bytes <- Seq(compact.take(end), 0.toByte +: row.getBytes)
        _ <- 1 to 100
      } {
        val changed = change(bytes, r)
        val outcomes = surroundings(changed, r).map { case (source, from) =>
          val back = new UnsafeRow(schema.length)
          outcome(schema)(codec.decode(source, from, from + changed.length, back))
        }
        if (isRead(outcomes, schema)) read += 1 else refused += 1
      }
    }
    assert(refused > rounds && read > rounds)
  }

  test("keys") {
    val r = new Random(22)
    var (refused, read) = (0, 0)
    for (_ <- 1 to rounds) {
      val schema = StructType(StructField("first", IntegerType) +: randomSchema(r).fields)
      val keys = UnsafeProjection.create(schema)
      for ((spec, bucketKey) <- specs(schema)) {
        val codec = KeyCodecs.forSpec("keys", spec, NoValue, bucketKey)
        val bytes = codec.encodeKey(keys(randomRow(schema, r)).copy())
        for (_ <- 1 to 50) {
          val changed = change(bytes, r)
          val outcomes = Seq.fill(2)(recordOf(changed, r)).map { record =>
            outcome(schema)(codec.decode(record, new RowSpace(schema.length)))
          }
          if (isRead(outcomes, schema)) read += 1 else refused += 1
        }
      }
    }
    assert(refused > rounds && read > rounds)
  }

  test("a key with a decimal of more digits than its type has") {
    val schema = new StructType().add("first", IntegerType).add("amount", DecimalType(30, 6))
    val key =
      UnsafeProjection.create(schema)(InternalRow(1, Decimal(BigDecimal("9" * 24 + ".5"), 30, 6)))
    val spec = RangeKeyScanStateEncoderSpec(schema, Seq(0))
    val codec = KeyCodecs.forSpec("keys", spec, NoValue, BucketKey.Whole)
    val bytes = codec.encodeKey(key)
    assert(codec.decode(recordOf(bytes, new Random(1)), new RowSpace(2)) == key)
    bytes(bytes.length - 16) = 0x7f // the number's highest byte
    val failure = intercept[CorruptException] {
      codec.decode(recordOf(bytes, new Random(1)), new RowSpace(2))
    }
    assert(failure.getMessage.contains("A key of the column family 'keys'"))
    assert(failure.getMessage.contains("amount:decimal(30,6)") && failure.getCause != null)
  }

  test("arrays that claim more elements than there are bytes") {
    val schema = new StructType().add("a", ArrayType(StringType))
    val codec = new CompactRowCodec(schema, "A value of the test")
    for (
      count <- Seq(-1L, 2L, 64L, 65L, Int.MaxValue.toLong, Long.MaxValue, Long.MinValue, 1L << 32)
    ) {
      val array = ByteBuffer.allocate(24).order(ByteOrder.LITTLE_ENDIAN).putLong(count).array
      val bytes = Array[Byte](1, 0, 24) ++ array
      intercept[CorruptException](codec.decode(bytes, 0, bytes.length, new UnsafeRow(1)))
    }
  }
}

private object ChangedRowsSuite {
  private val NoValue = new StructType().add("v", NullType)

  /** What is read of a row, or why there is none. A value may still be none, such as a decimal of too many digits. */
  private type Outcome = Either[CorruptException, Seq[String]]

  private def outcome(schema: StructType)(row: => UnsafeRow): Outcome =
    Try(row) match {
      case Success(found) => Right(values(found, schema.map(_.dataType), schema.length))
      case Failure(e: CorruptException) => Left(e)
      case Failure(other)               => throw other
    }

  private def isRead(outcomes: Seq[Outcome], schema: StructType): Boolean = {
    val found = outcomes.collect { case Right(values) => values }
    assert(
      found.isEmpty || (found.size == outcomes.size && found.distinct.size == 1),
      schema.catalogString
    )
    found.nonEmpty
  }

  private def values(of: SpecializedGetters, types: Seq[DataType], count: Int): Seq[String] =
    (0 until count).map(i => Try(value(of, i, types(i))).fold(_.getClass.getName, identity))

  private def value(of: SpecializedGetters, i: Int, dataType: DataType): String =
    if (of.isNullAt(i)) "null"
    else {
      dataType match {
        case struct: StructType =>
          values(of.getStruct(i, struct.length), struct.map(_.dataType), struct.length).toString
        case ArrayType(element, _)  => elements(of.getArray(i), element)
        case MapType(key, value, _) =>
          val map = of.getMap(i)
          elements(map.keyArray(), key) + elements(map.valueArray(), value)
        case BinaryType  => of.getBinary(i).toSeq.toString
        case StringType  => of.getUTF8String(i).getBytes.toSeq.toString
        case VariantType =>
          val variant = of.getVariant(i)
          variant.getValue.toSeq.toString + variant.getMetadata.toSeq
        case other => String.valueOf(of.get(i, other))
      }
    }

  private def elements(of: ArrayData, element: DataType): String =
    values(of, Seq.fill(of.numElements())(element), of.numElements()).toString

  /** The bytes between others, at two places. */
  private def surroundings(bytes: Array[Byte], r: Random): Seq[(Array[Byte], Int)] =
    Seq(0, 1 + r.nextInt(100)).map { from =>
      (r.nextBytes(from) ++ bytes ++ r.nextBytes(200), from)
    }

  /** A record with the key, and some value. */
  private def recordOf(key: Array[Byte], r: Random): Array[Byte] = {
    val front = new Array[Byte](5)
    front.take(Record.putVarint(front, 0, key.length)) ++ key ++ r.nextBytes(200)
  }

  private def change(bytes: Array[Byte], r: Random): Array[Byte] = {
    val changed = ByteBuffer.wrap(bytes.clone()).order(ByteOrder.LITTLE_ENDIAN)
    for (_ <- 0 to r.nextInt(2)) {
      val at = r.nextInt(bytes.length)
      if (r.nextBoolean() || at + 4 > bytes.length) changed.put(at, r.nextInt().toByte)
      else
        changed.putInt(
          at,
          Seq(-1, 0, 8, 16, 64, r.nextInt(256), Int.MaxValue, Int.MinValue)(r.nextInt(8))
        )
    }
    if (r.nextInt(8) > 0) changed.array else changed.array.take(r.nextInt(bytes.length))
  }

  private def specs(schema: StructType): Seq[(KeyStateEncoderSpec, BucketKey)] = Seq(
    NoPrefixKeyStateEncoderSpec(schema) -> BucketKey.Whole,
    PrefixKeyScanStateEncoderSpec(schema, 1) -> BucketKey.LengthPrefixed,
    RangeKeyScanStateEncoderSpec(schema, Seq(0)) -> BucketKey.Whole
  )
}
