package io.bucketstate.sql

import org.apache.spark.sql.connector.expressions.filter.Predicate
import org.apache.spark.sql.connector.expressions.{Expression, Literal, NamedReference}
import org.apache.spark.sql.types._

/**
 * A field of the stored key that a filter restricts to some values. Immutable.
 *
 * @param path   where the field lies in the stored key, by ordinals from the outermost on
 * @param values as Spark has them in rows
 * @param filter that says so
 */
private[sql] final case class KeyPin(path: Seq[Int], values: Seq[Any], filter: Predicate)

private[sql] object KeyPin {

  /** What a filter says of the key of what is read; None if it says nothing that names values of one field. */
  def of(filter: Predicate, read: StateRead): Option[KeyPin] =
    for {
      name <- fieldOf(filter)
      leaf <- leafOf(name, read)
      values <- valuesOf(filter, leaf)
    } yield KeyPin(leaf.path, values, filter)

  /** The field, if the filter is about one alone; a list of values may have a field among them, and says nothing of it. */
  private def fieldOf(filter: Predicate): Option[Seq[String]] = {
    val isList = filter.name == "IN"
    filter.children.toSeq.zipWithIndex.collect { case (f: NamedReference, i) => f -> i } match {
      case Seq((field, i)) if i == 0 || !isList => Some(field.fieldNames.toSeq)
      case _                                    => None
    }
  }

  /** The values, if the filter says that a field is one of them, and they are of its type. */
  private def valuesOf(filter: Predicate, leaf: Leaf): Option[Seq[Any]] = {
    val others = filter.children.toSeq.filterNot(_.isInstanceOf[NamedReference])
    val values: Seq[Any] = others.flatMap(valueOf(_, leaf.dataType))
    // Null is equal to nothing, and can be asked for; within a struct it may be the struct that is null.
    lazy val missing = Option.when(leaf.path.size == 1)(Seq(null))
    filter.name match {
      case _ if values.size < others.size => None
      case "IS_NULL"                      => missing
      case "<=>" if values.contains(null) => missing
      case "=" | "<=>" | "IN"             => Some(values.filter(_ != null).distinct)
      case _                              => None
    }
  }

  private def valueOf(e: Expression, dataType: DataType): Option[Any] = e match {
    case literal: Literal[_] if literal.dataType == dataType => Some(literal.value)
    case _                                                   => None
  }

  private final case class Leaf(path: Seq[Int], dataType: DataType)

  private def leafOf(names: Seq[String], read: StateRead): Option[Leaf] =
    for {
      column <- names.headOption.flatMap(read.byName.get)
      cut <- column.from match {
        case From.Key(cut) => Some(cut)
        case _             => None
      }
      (path, dataType) <- within(column.dataType, names.tail)
      if isExact(dataType)
    } yield Leaf(cut.path(path), dataType)

  private def within(dataType: DataType, names: Seq[String]): Option[(Seq[Int], DataType)] =
    (dataType, names) match {
      case (other, Seq())               => Some(Nil -> other)
      case (struct: StructType, n +: t) =>
        val i = struct.fieldNames.indexOf(n)
        if (i < 0) None
        else within(struct(i).dataType, t).map { case (path, found) => (i +: path) -> found }
      case _ => None
    }

  /** Whether what is equal in SQL has the same bytes: of floating point numbers and collated strings it is not so. */
  private def isExact(dataType: DataType): Boolean = dataType match {
    case BooleanType | ByteType | ShortType | IntegerType | LongType => true
    case DateType | TimestampType | TimestampNTZType                 => true
    case StringType | BinaryType | _: DecimalType                    => true
    case _                                                           => false
  }
}
