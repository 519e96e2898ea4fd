package io.bucketstate.spark.rows

import scala.util.Random

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow
import org.apache.spark.sql.catalyst.util.{ArrayBasedMapData, GenericArrayData}
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.{CalendarInterval, UTF8String, VariantVal}

/** Schemas of all types, and rows of them. */
object RandomRows {

  private val types: Seq[DataType] = Seq(
    BooleanType,
    ByteType,
    ShortType,
    IntegerType,
    LongType,
    FloatType,
    DoubleType,
    DateType,
    TimestampType,
    TimestampNTZType,
    StringType,
    BinaryType,
    DecimalType(12, 3),
    DecimalType(30, 6),
    CalendarIntervalType,
    YearMonthIntervalType(),
    DayTimeIntervalType(),
    NullType,
    ArrayType(StringType),
    MapType(IntegerType, StringType),
    new StructType().add("a", ShortType).add("b", StringType),
    ArrayType(LongType),
    ArrayType(MapType(StringType, ArrayType(DecimalType(30, 6)))),
    new StructType().add("a", ArrayType(CalendarIntervalType)).add("b", VariantType),
    VariantType
  )

  private def randomValue(t: DataType, r: Random): Any = t match {
    case BooleanType                                 => r.nextBoolean()
    case ByteType                                    => r.nextInt().toByte
    case ShortType                                   => r.nextInt().toShort
    case IntegerType | DateType                      => r.nextInt()
    case _: YearMonthIntervalType                    => r.nextInt()
    case LongType | TimestampType | TimestampNTZType => r.nextLong()
    case _: DayTimeIntervalType                      => r.nextLong()
    case FloatType                                   => r.nextFloat()
    case DoubleType                                  => r.nextDouble()
    case StringType     => UTF8String.fromString(r.alphanumeric.take(r.nextInt(40)).mkString)
    case BinaryType     => r.nextBytes(r.nextInt(300))
    case d: DecimalType =>
      Decimal(BigDecimal(BigInt(d.precision * 3 - 1, r), d.scale), d.precision, d.scale)
    case CalendarIntervalType => new CalendarInterval(r.nextInt(), r.nextInt(), r.nextLong())
    case ArrayType(e, _)  => new GenericArrayData(Array.fill[Any](r.nextInt(4))(randomValue(e, r)))
    case MapType(k, v, _) =>
      val n = r.nextInt(4)
      ArrayBasedMapData(
        Array.fill[Any](n)(randomValue(k, r)),
        Array.fill[Any](n)(randomValue(v, r))
      )
    case s: StructType => randomRow(s, r)
    case VariantType   => new VariantVal(r.nextBytes(r.nextInt(9)), r.nextBytes(r.nextInt(9)))
    case _             => null
  }

  def randomRow(schema: StructType, r: Random): InternalRow =
    new GenericInternalRow(schema.fields.map { f =>
      if (r.nextInt(5) == 0) null else randomValue(f.dataType, r)
    })

  def randomSchema(r: Random): StructType =
    StructType((0 until 1 + r.nextInt(12)).map { i =>
      StructField(s"f$i", types(r.nextInt(types.size)))
    })
}
