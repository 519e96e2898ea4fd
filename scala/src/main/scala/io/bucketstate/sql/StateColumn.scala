package io.bucketstate.sql

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{BoundReference, UnsafeProjection, UnsafeRow}
import org.apache.spark.sql.types.{DataType, IntegerType, LongType, StructField, StructType}

import io.bucketstate.move.read.ColumnNames

/** A column of what is read. Immutable; goes to executors. */
private[sql] final case class StateColumn(name: String, dataType: DataType, from: From) {
  def field: StructField = StructField(name, dataType)
}

/** What a column is made of. */
private[sql] sealed trait From

private[sql] object From {

  /** A part of what is stored as the key. */
  final case class Key(cut: Cut) extends From

  /** A part of what is stored as the value, or as one of them. */
  final case class Value(cut: Cut) extends From

  case object Partition extends From

  case object Batch extends From
}

/** A part of a stored row. */
private[sql] sealed trait Cut {

  /** What it is in a row of this schema. */
  def typeIn(schema: StructType): DataType

  /** Takes it out of a row; what it gives may be good until the next one. */
  def of(schema: StructType): UnsafeRow => Any

  /** Where a field of it lies in the stored row, given by ordinals from the outermost on. */
  def path(within: Seq[Int]): Seq[Int]
}

private[sql] object Cut {

  case object All extends Cut {
    override def typeIn(schema: StructType): DataType = StateColumn.named(schema)

    override def of(schema: StructType): UnsafeRow => Any = row => row

    override def path(within: Seq[Int]): Seq[Int] = within
  }

  /** All but the last field, which an operator has put behind the others for itself. */
  case object AllButLast extends Cut {
    override def typeIn(schema: StructType): DataType =
      StateColumn.named(StructType(schema.dropRight(1)))

    override def of(schema: StructType): UnsafeRow => Any = {
      val fields = schema.fields.toSeq.dropRight(1).zipWithIndex.map { case (f, i) =>
        BoundReference(i, f.dataType, nullable = true)
      }
      val project = UnsafeProjection.create(fields)
      row => project(row)
    }

    override def path(within: Seq[Int]): Seq[Int] = within
  }

  final case class Field(ordinal: Int) extends Cut {
    override def typeIn(schema: StructType): DataType = schema(ordinal).dataType match {
      case inner: StructType => StateColumn.named(inner)
      case other             => other
    }

    override def of(schema: StructType): UnsafeRow => Any = {
      val get = InternalRow.getAccessor(schema(ordinal).dataType, nullable = true)
      row => get(row, ordinal)
    }

    override def path(within: Seq[Int]): Seq[Int] = ordinal +: within
  }
}

private[sql] object StateColumn {

  def key(name: String, schema: StructType, cut: Cut): StateColumn =
    StateColumn(name, cut.typeIn(schema), From.Key(cut))

  def value(name: String, schema: StructType, cut: Cut): StateColumn =
    StateColumn(name, cut.typeIn(schema), From.Value(cut))

  val Partition: StateColumn = StateColumn("partition_id", IntegerType, From.Partition)

  /** The batch that made the state which is read; Spark shows it to whoever asks for it by its name. */
  val Batch: StateColumn = StateColumn("_batch_id", LongType, From.Batch)

  /** A struct whose fields can be asked for by their names. */
  def named(schema: StructType): StructType = {
    val names = ColumnNames.unique(schema.fieldNames.toSeq)
    StructType(schema.fields.zip(names).map { case (f, name) => f.copy(name = name) })
  }
}
