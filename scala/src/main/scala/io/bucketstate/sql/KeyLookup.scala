package io.bucketstate.sql

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{
  BoundReference,
  Expression,
  GenericInternalRow,
  GetStructField,
  UnsafeProjection,
  UnsafeRow
}
import org.apache.spark.sql.connector.read.InputPartition
import org.apache.spark.sql.types.{DataType, StructType}

import io.bucketstate.move.place.Placer

/** What is read of one partition. */
private[sql] final case class PartitionLookup(partition: Int, look: Look) extends InputPartition

/** Which keys of a partition are read. */
private[sql] sealed trait Look

private[sql] object Look {
  case object Everything extends Look

  /** These alone. */
  final case class Keys(rows: Seq[UnsafeRow]) extends Look

  /** Those of the buckets that keys lie in whose first columns these are. */
  final case class Beginnings(rows: Seq[UnsafeRow]) extends Look
}

/**
 * What has to be read for filters on keys: of which partitions, and of these all, some buckets or some keys. Filters are held
 * against the rows by Spark afterwards, so more may be read than they leave.
 */
private[sql] final class KeyLookup(read: StateRead, pins: Seq[KeyPin]) {
  import KeyLookup._

  private[this] val key = read.family.keySchema
  private[this] val leaves = leavesOf(key)

  /** The fewest values of each field that is restricted. */
  private[this] val pinned: Map[Seq[Int], Seq[Any]] =
    pins.groupBy(_.path).map { case (path, all) => path -> all.map(_.values).minBy(_.size) }

  private def arePinned(all: Seq[Seq[Int]]): Boolean = all.forall(pinned.contains)

  /** The fields that decide the partition, if all of them are restricted. */
  private[this] val deciding: Option[Seq[Seq[Int]]] = {
    val paths = read.family.deciding.fields(key).map { case (_, e) => pathOf(e) }
    val all = leaves.filter(leaf => paths.exists(leaf.startsWith(_)))
    Option.when(read.isPlaced && arePinned(all))(all)
  }

  /** The fields that a key, or the first part of it, is made of, if all of them are restricted. */
  private[this] val (looked, columns) = {
    val first = read.family.prefixColumns
    val ofFirst = leaves.filter(_.head < first)
    if (arePinned(leaves)) (leaves, key.length)
    else if (first > 0 && arePinned(ofFirst)) (ofFirst, first)
    else (Nil, 0)
  }

  def partitions: Seq[PartitionLookup] = {
    val everywhere = 0 until read.partitions
    val used = (looked ++ deciding.getOrElse(Nil)).distinct
    // Products of many lists are no look-up any more.
    val count = used.map(pinned(_).size.toLong).foldLeft(1L)((n, m) => math.min(n * m, Most + 1L))
    if (used.isEmpty || count > Most) everywhere.map(PartitionLookup(_, Look.Everything))
    else {
      val whole = projection(key, key.length)
      val first = projection(key, columns)
      val placed = new Placer(read.family.deciding, key, read.partitions)
      val rows = products(used).flatMap { values =>
        val row = made(key, Nil, values)
        val part = first(row).copy()
        val where = if (deciding.isDefined) Seq(placed(whole(row))) else everywhere
        where.map(_ -> part)
      }
      rows.groupMap(_._1)(_._2).toSeq.sortBy(_._1).map { case (partition, parts) =>
        PartitionLookup(partition, lookFor(parts.distinct))
      }
    }
  }

  private def lookFor(parts: Seq[UnsafeRow]): Look =
    if (columns == 0) Look.Everything
    else if (columns == key.length) Look.Keys(parts)
    else Look.Beginnings(parts)

  private def products(paths: Seq[Seq[Int]]): Seq[Map[Seq[Int], Any]] =
    paths.foldLeft(Seq(Map.empty[Seq[Int], Any])) { (found, path) =>
      for {
        one <- found
        value <- pinned(path)
      } yield one.updated(path, value)
    }
}

private[sql] object KeyLookup {

  /** Keys that are looked up one by one. */
  final val Most = 10000

  /**
   * The fields that have no others within. An inner struct without fields is one of them, which no filter restricts: there
   * or null, its bytes are not the same, so that a key with one is never known as a whole.
   */
  private def leavesOf(struct: StructType): Seq[Seq[Int]] = struct.indices.flatMap { i =>
    struct(i).dataType match {
      case inner: StructType if inner.nonEmpty => leavesOf(inner).map(i +: _)
      case _                                   => Seq(Seq(i))
    }
  }

  private def pathOf(e: Expression): Seq[Int] = e match {
    case BoundReference(ordinal, _, _)     => Seq(ordinal)
    case GetStructField(child, ordinal, _) => pathOf(child) :+ ordinal
    case other => throw new IllegalArgumentException(s"$other is no field of a key")
  }

  /** A row with some of its fields; a struct without any of its own is null. */
  private def made(schema: StructType, at: Seq[Int], values: Map[Seq[Int], Any]): InternalRow = {
    val fields = schema.fields.zipWithIndex.map[Any] { case (field, i) =>
      val path = at :+ i
      field.dataType match {
        case inner: StructType if values.keysIterator.exists(_.startsWith(path)) =>
          made(inner, path, values)
        case _ => values.getOrElse(path, null)
      }
    }
    new GenericInternalRow(fields)
  }

  /** Makes rows of the first columns of a schema, any of which may be null. */
  private def projection(schema: StructType, columns: Int): UnsafeProjection =
    UnsafeProjection.create(schema.fields.toSeq.take(columns).zipWithIndex.map { case (f, i) =>
      BoundReference(i, nullable(f.dataType), nullable = true)
    })

  private def nullable(dataType: DataType): DataType = dataType match {
    case struct: StructType =>
      StructType(
        struct.fields.map(f => f.copy(dataType = nullable(f.dataType), nullable = true))
      )
    case other => other
  }
}
