package io.bucketstate.spark.rows

import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.Platform
import org.apache.spark.unsafe.Platform.BYTE_ARRAY_OFFSET

import io.bucketstate.error.CorruptException

/**
 * What bytes have to be like that Spark reads as a value of some type. Rows, arrays and maps hold offsets and
 * lengths that Spark follows without a look at where the bytes end: in a file that was changed they lead anywhere.
 *
 * Thread-safe.
 */
private[rows] sealed abstract class Shape {

  /** Whether all that the `size` bytes from `from` point to lies within them; they lie within `bytes`. */
  def fits(bytes: Array[Byte], from: Int, size: Int): Boolean
}

/**
 * A row: a word for each field, and behind them the bytes that the words of other than fixed width point to.
 *
 * @param nullable where a null bit counts; without it the word is read whatever the bit says
 */
private[rows] final class RowShape(types: Array[DataType], nullable: Array[Boolean]) extends Shape {
  import Shape._

  private[this] val shapes = types.map(Shape.of)
  private[this] val fields = shapes.indices.filter(i => shapes(i) ne Fixed).toArray
  private[this] val bitSetBytes = Shape.bitSetBytes(types.length)
  private[this] val fixedBytes = bitSetBytes + WordBytes * types.length

  /** Whether a row that is laid out anew, with words of its own, may still have something in it that points. */
  val isDeep: Boolean = fields.exists(i => shapes(i) ne AnyBytes)

  override def fits(bytes: Array[Byte], from: Int, size: Int): Boolean =
    size >= fixedBytes && size % WordBytes == 0 && {
      var left = size - fixedBytes // of bytes that words can point to
      var i = 0
      while (i < fields.length && left >= 0) {
        left = leftAfter(fields(i), left, bytes, from, size)
        i += 1
      }
      left >= 0
    }

  private def leftAfter(field: Int, left: Int, bytes: Array[Byte], from: Int, size: Int): Int =
    if (nullable(field) && isNull(bytes, from, field)) left
    else {
      val word = longAt(bytes, from + bitSetBytes + WordBytes * field)
      leftAfterValue(shapes(field), word, fixedBytes, left, bytes, from, size)
    }
}

private[rows] object RowShape {

  /** The shape of rows whose readers ask whether a field is null, whatever the schema says. */
  def of(schema: StructType): RowShape =
    new RowShape(schema.fields.map(_.dataType), schema.fields.map(_ => true))

  /** The shape of rows that are copied by a projection, which asks for nulls where the schema allows them. */
  def projected(fields: Array[StructField]): RowShape =
    new RowShape(fields.map(_.dataType), fields.map(_.nullable))

  /** The values of a family, for an error. */
  def valuesOf(family: String): String = s"A value of the column family '$family'"

  def mismatch(
      what: String,
      schema: StructType,
      cause: Throwable = null
  ): CorruptException = new CorruptException(
    what,
    s"its bytes do not have the layout of the schema ${schema.catalogString}",
    "The checkpoint was written with another schema, or a file of it was changed: restart with the query that wrote " +
      "it, or from a new checkpoint location.",
    cause
  )
}

/** An array: how many elements, bits for nulls, the elements or words for them, what those point to. */
private final class ArrayShape(elementType: DataType) extends Shape {
  import Shape._

  private[this] val element = Shape.of(elementType)
  private[this] val width = Shape.fixedWidth(elementType) match {
    case 0     => WordBytes
    case bytes => bytes
  }

  override def fits(bytes: Array[Byte], from: Int, size: Int): Boolean = size >= WordBytes && {
    val count = longAt(bytes, from)
    // Shorter than one bit an element it cannot be; so nothing below goes beyond a long.
    count >= 0 && count <= 8L * size && {
      val elements = WordBytes + (count + 63) / 64 * WordBytes
      val fixedBytes = elements + count * width
      fixedBytes <= size && ((element eq Fixed) ||
        elementsFit(count.toInt, elements.toInt, fixedBytes.toInt, bytes, from, size))
    }
  }

  private def elementsFit(
      count: Int,
      elements: Int,
      fixedBytes: Int,
      bytes: Array[Byte],
      from: Int,
      size: Int
  ): Boolean = {
    var left = size - fixedBytes
    var i = 0
    while (i < count && left >= 0) {
      if (!isNull(bytes, from + WordBytes, i)) {
        val word = longAt(bytes, from + elements + WordBytes * i)
        left = leftAfterValue(element, word, fixedBytes, left, bytes, from, size)
      }
      i += 1
    }
    left >= 0
  }
}

/** A map: the length of the keys' array, that array, the values' array. */
private final class MapShape(mapType: MapType) extends Shape {
  import Shape._

  private[this] val keys = new ArrayShape(mapType.keyType)
  private[this] val values = new ArrayShape(mapType.valueType)

  override def fits(bytes: Array[Byte], from: Int, size: Int): Boolean =
    size >= 3 * WordBytes && {
      val length = longAt(bytes, from)
      length >= WordBytes && length <= size - 2 * WordBytes && {
        val start = from + WordBytes
        val middle = start + length.toInt
        keys.fits(bytes, start, length.toInt) &&
        values.fits(bytes, middle, from + size - middle) &&
        longAt(bytes, start) == longAt(bytes, middle)
      }
    }
}

private[rows] object Shape {
  private[rows] final val WordBytes = 8
  private final val DecimalBytes = 16
  private final val IntervalBytes = 16

  /** A value that is in its word. */
  object Fixed extends Shape {
    override def fits(bytes: Array[Byte], from: Int, size: Int): Boolean = true
  }

  /** Bytes in which nothing points, as many as the word says. */
  object AnyBytes extends Shape {
    override def fits(bytes: Array[Byte], from: Int, size: Int): Boolean = true
  }

  private object LongDecimal extends Shape {
    override def fits(bytes: Array[Byte], from: Int, size: Int): Boolean =
      size > 0 && size <= DecimalBytes
  }

  private object Interval extends Shape {
    override def fits(bytes: Array[Byte], from: Int, size: Int): Boolean = size >= IntervalBytes
  }

  /** The length of the value, the value, its metadata. */
  private object Variant extends Shape {
    override def fits(bytes: Array[Byte], from: Int, size: Int): Boolean = size >= 4 && {
      val value = Platform.getInt(bytes, BYTE_ARRAY_OFFSET.toLong + from)
      value >= 0 && value <= size - 4
    }
  }

  def of(dataType: DataType): Shape = dataType match {
    case udt: UserDefinedType[_]        => of(udt.sqlType)
    case other if fixedWidth(other) > 0 => Fixed
    case struct: StructType             => RowShape.of(struct)
    case array: ArrayType               => new ArrayShape(array.elementType)
    case map: MapType                   => new MapShape(map)
    case _: DecimalType                 => LongDecimal
    case CalendarIntervalType           => Interval
    case VariantType                    => Variant
    case _                              => AnyBytes
  }

  /** Bytes of the value that are significant, 0 for what lies in the row's variable part. */
  def fixedWidth(dataType: DataType): Int = dataType match {
    case BooleanType | ByteType                                        => 1
    case ShortType                                                     => 2
    case IntegerType | FloatType | DateType | _: YearMonthIntervalType => 4
    case LongType | DoubleType | TimestampType | TimestampNTZType      => 8
    case _: DayTimeIntervalType                                        => 8
    case d: DecimalType if d.precision <= Decimal.MAX_LONG_DIGITS      => 8
    case udt: UserDefinedType[_]                                       => fixedWidth(udt.sqlType)
    case other if UnsafeRow.isFixedLength(other) && other.defaultSize <= 8 => 8
    case _                                                                 => 0
  }

  def bitSetBytes(fields: Int): Int = UnsafeRow.calculateBitSetWidthInBytes(fields)

  def longAt(bytes: Array[Byte], at: Int): Long =
    Platform.getLong(bytes, BYTE_ARRAY_OFFSET.toLong + at)

  /** Bits are numbered from the lowest of little-endian words. */
  def isNull(bytes: Array[Byte], nulls: Int, i: Int): Boolean =
    (longAt(bytes, nulls + WordBytes * (i >> 6)) & (1L << (i & 63))) != 0

  /**
   * How many of `left` bytes are left for other values when a word, `offset << 32 | length`, points to one; negative
   * if that does not lie behind the first `fixedBytes`, or is none of the shape. No two values share bytes: those of
   * arrays in arrays would be as many as their lengths multiplied.
   */
  def leftAfterValue(
      shape: Shape,
      word: Long,
      fixedBytes: Int,
      left: Int,
      bytes: Array[Byte],
      from: Int,
      size: Int
  ): Int = {
    val (offset, length) = ((word >>> 32).toInt, word.toInt)
    val fits = length >= 0 && length <= left && offset >= fixedBytes && offset <= size - length &&
      shape.fits(bytes, from + offset, length)
    if (fits) left - length else -1
  }
}
