package io.bucketstate.move.place

import org.apache.spark.sql.catalyst.expressions.{BoundReference, Expression, GetStructField}
import org.apache.spark.sql.types.{StructField, StructType}

/** Which part of a stored key decides its partition: the fields by which Spark has hashed the rows that led to it. */
private[bucketstate] sealed trait Deciding {

  /** These fields, with their names. */
  def fields(key: StructType): Seq[(StructField, Expression)]

  /** The columns that are grouped by, with their names, also those by which keys do not lie. */
  def grouping(key: StructType): Seq[(StructField, Expression)] = fields(key)
}

private[bucketstate] object Deciding {

  /** All keys lie in partition 0. */
  case object Nothing extends Deciding {
    override def fields(key: StructType): Seq[(StructField, Expression)] = Nil
  }

  case object Whole extends Deciding {
    override def fields(key: StructType): Seq[(StructField, Expression)] =
      key.fields.toSeq.zipWithIndex.map { case (f, i) =>
        f -> BoundReference(i, f.dataType, f.nullable)
      }
  }

  /** What Spark appends to a key lies behind it: an index, a time, the start of a session. */
  case object AllButLast extends Deciding {
    override def fields(key: StructType): Seq[(StructField, Expression)] =
      Whole.fields(key).dropRight(1)
  }

  /** A struct within the key, found by ordinals from the outermost on. */
  final case class Within(path: Seq[Int]) extends Deciding {
    override def fields(key: StructType): Seq[(StructField, Expression)] = {
      val outer: Expression =
        BoundReference(path.head, key(path.head).dataType, key(path.head).nullable)
      val struct = path.tail.foldLeft(outer)((e, i) => GetStructField(e, i))
      struct.dataType match {
        case inner: StructType =>
          inner.fields.toSeq.zipWithIndex.map { case (f, i) => f -> GetStructField(struct, i) }
        case other => throw new IllegalArgumentException(s"$path of $key is $other, not a struct")
      }
    }
  }

  /** Some of the columns that another rule gives: how queries begun before Spark 3.3 may lie. */
  final case class Columns(inner: Deciding, columns: Seq[Int]) extends Deciding {
    override def fields(key: StructType): Seq[(StructField, Expression)] = {
      val all = inner.fields(key)
      columns.map(all)
    }

    override def grouping(key: StructType): Seq[(StructField, Expression)] = inner.grouping(key)
  }
}
