package io.bucketstate.spark.rows

import org.apache.spark.sql.types.{BinaryType, StructField}
import org.apache.spark.unsafe.Platform
import org.apache.spark.unsafe.Platform.BYTE_ARRAY_OFFSET

/** What bytes have to be like that one of Spark's encoders of keys reads, as [[ScanKeyCodec]] says it. Thread-safe. */
private[rows] final class KeyShape(layout: KeyLayout) {
  import KeyShape._
  import ScanKeyCodec._

  private[this] val parts: Seq[RowShape] = layout match {
    case KeyLayout.Whole(schema)     => Seq(of(schema.fields))
    case KeyLayout.Prefix(schema, n) => Seq(of(schema.fields.take(n)), of(schema.fields.drop(n)))
    case KeyLayout.Ordered(schema, columns) =>
      val others = schema.indices.diff(columns).map(schema(_)).toArray
      Seq(of(columns.map(_ => Ordered).toArray), of(others))
    case KeyLayout.Timed(schema, _) => Seq(of(schema.fields.init))
  }

  /** Bytes of the ordered columns: each a marker and the number. */
  private[this] val ordered: Seq[Int] = layout match {
    case KeyLayout.Ordered(schema, columns) => columns.map(i => 1 + schema(i).dataType.defaultSize)
    case _                                  => Nil
  }

  def fits(key: Array[Byte]): Boolean = layout match {
    case _: KeyLayout.Whole            => partFits(parts.head, key, 0, key.length)
    case KeyLayout.Timed(_, isInFront) =>
      val (from, end) =
        if (isInFront) (TimestampKeyCodec.TimestampBytes, key.length)
        else (0, key.length - TimestampKeyCodec.TimestampBytes)
      partFits(parts.head, key, from, end)
    case _ => bothFit(key)
  }

  private def bothFit(key: Array[Byte]): Boolean = key.length >= LengthBytes && {
    val length = Platform.getInt(key, BYTE_ARRAY_OFFSET.toLong)
    length >= 0 && length <= key.length - LengthBytes && {
      val middle = LengthBytes + length
      partFits(parts.head, key, LengthBytes, middle) && orderedFit(key) &&
      partFits(parts.last, key, middle, key.length)
    }
  }

  private def partFits(shape: RowShape, key: Array[Byte], from: Int, end: Int): Boolean = {
    val size = end - from - VersionBytes
    size >= 0 && shape.fits(key, from + VersionBytes, size)
  }

  /** Whether none of the ordered columns is null, and the low halves of their words have their lengths. */
  private def orderedFit(key: Array[Byte]): Boolean = {
    val nulls = LengthBytes + VersionBytes
    val words = nulls + Shape.bitSetBytes(ordered.size)
    ordered.zipWithIndex.forall { case (size, i) =>
      !Shape.isNull(key, nulls, i) && Shape.longAt(key, words + Shape.WordBytes * i).toInt >= size
    }
  }
}

private object KeyShape {
  private val Ordered = StructField("", BinaryType, nullable = false)

  private def of(fields: Array[StructField]): RowShape = RowShape.projected(fields)
}
