package io.bucketstate.move.upsert

import scala.collection.mutable

import org.apache.spark.sql.catalyst.expressions.{
  BoundReference,
  Coalesce,
  CreateNamedStruct,
  Expression,
  GetStructField,
  IsNull,
  Literal,
  StartsWith
}
import org.apache.spark.sql.execution.streaming.state.SparkSessions
import org.apache.spark.sql.types.{ArrayType, DataType, MapType, NullType, StructField, StructType}

import io.bucketstate.error.InvalidException
import io.bucketstate.move.read.ColumnNames.unique
import io.bucketstate.move.read.{SourceFamily, SourceOperator}

/**
 * Finds in the columns of a frame what a column family keeps: a field `f` of its key is the column `key.f`, whether `key` is a
 * struct or that is the column's whole name, or the column `f`. Of values it is the same, but that a name is the key's where
 * both have it. Types must be the same; whether a column may be null is seen in the rows.
 */
private[move] final class FrameColumns private (
    frame: StructType,
    operator: SourceOperator,
    family: SourceFamily
) {
  import FrameColumns._

  private[this] val names = unique(frame.fieldNames.toSeq)
  private[this] val taken = mutable.Set.empty[String]
  private[this] val refused = mutable.ArrayBuffer.empty[(Expression, String)]
  private[this] val isAggregation = operator.name == "stateStoreSave"

  private def shape: RowShape = {
    val key = family.keySchema
    val keys = fields("key", key).map(e => if (isAggregation) SparkSessions.normalized(e) else e)
    val values = UpsertRules.groupState(operator, family.valueSchema) match {
      case Some(state) => group(state)
      case None        => fields("value", family.valueSchema)
    }
    names.filterNot(name => taken(name) || Ignored(name)).foreach { name =>
      throw invalid(s"The rows have a column '$name', which the state of $subject does not have")
    }
    RowShape(family.name, keys, values, refused.toSeq)
  }

  private def subject = s"operator ${operator.id} (${operator.name})"

  private def fields(part: String, schema: StructType): Seq[Expression] = {
    val defaults =
      if (UpsertRules.isDocument(schema)) DocumentDefaults else Map.empty[String, Expression]
    unique(schema.fieldNames.toSeq).zip(schema.fields).map { case (name, field) =>
      val found = find(part, name)
      if (field.dataType == NullType) Literal(null, NullType)
      else
        found.map(typed(field)).orElse(defaults.get(name)).getOrElse {
          throw invalid(s"The rows have no column '$name' for the $part of $subject")
        }
    }
  }

  /** The state of a group, whole or field by field, and when it times out. */
  private def group(state: StructType): Seq[Expression] = {
    val schema = family.valueSchema
    val field = schema(UpsertRules.GroupState)
    val whole = find("value", field.name).map(typed(field)).orElse {
      find("value", "state").filter(f => stripped(f.dataType) == stripped(state)).map(typed(field))
    }
    val timeout = schema.fields.find(_.name == UpsertRules.TimeoutTimestamp).map { f =>
      find("value", f.name).map(typed(f)).getOrElse {
        if (UpsertRules.isDocument(state)) timeoutOfDocument(whole, state)
        else Literal(UpsertRules.NoTimeout)
      }
    }
    val filled = whole.getOrElse {
      val parts = state.fieldNames.toSeq.zip(fields("value", state))
      CreateNamedStruct(parts.flatMap { case (name, value) => Seq(Literal(name), value) })
    }
    Seq(Some(filled), timeout).flatten
  }

  /** Spark looks at the timeout beside a document, not at the one in it; timers that are in it would not be known to Spark. */
  private def timeoutOfDocument(whole: Option[Expression], document: StructType): Expression = {
    def part(name: String): Option[Expression] = whole match {
      case Some(state) => Some(GetStructField(state, document.fieldIndex(name)))
      case None        => find("value", name).map(_.expression)
    }
    part("state").foreach { text =>
      refused += StartsWith(text, Literal(TimersFirst)) ->
        s"the document has timers: give '${UpsertRules.TimeoutTimestamp}', too"
    }
    part("timeout").fold[Expression](Literal(UpsertRules.NoTimeout)) { at =>
      Coalesce(Seq(at, Literal(UpsertRules.NoTimeout)))
    }
  }

  private def find(part: String, name: String): Option[Found] =
    inside(part, name)
      .orElse(column(s"$part.$name"))
      .orElse(
        if (part == "value" && family.keySchema.fieldNames.contains(name)) None else column(name)
      )

  private def column(name: String): Option[Found] = {
    val i = names.indexOf(name)
    Option.when(i >= 0) {
      taken += name
      Found(name, BoundReference(i, frame(i).dataType, nullable = true), frame(i).dataType)
    }
  }

  private def inside(part: String, name: String): Option[Found] = struct(part).flatMap {
    case (i, fields) =>
      val n = unique(fields.fieldNames.toSeq).indexOf(name)
      val whole = BoundReference(i, fields, nullable = true)
      Option.when(n >= 0) {
        if (taken.add(part)) {
          refused += IsNull(whole) -> s"'$part' is null"
          requireKnown(part, fields)
        }
        Found(s"$part.$name", GetStructField(whole, n), fields(n).dataType)
      }
  }

  /** The column of a part, where it holds the part's fields and is none of them itself. */
  private def struct(part: String): Option[(Int, StructType)] = {
    val i = names.indexOf(part)
    if (i < 0) None
    else
      frame(i).dataType match {
        case fields: StructType
            if !Seq(family.keySchema, family.valueSchema).exists(_.fields.exists { f =>
              f.name == part && stripped(f.dataType) == stripped(fields)
            }) =>
          Some(i -> fields)
        case _ => None
      }
  }

  private def requireKnown(part: String, fields: StructType): Unit = {
    val known = unique(
      (if (part == "key") family.keySchema else family.valueSchema).fieldNames.toSeq
    )
    unique(fields.fieldNames.toSeq).filterNot(known.contains).foreach { name =>
      throw invalid(
        s"The rows have a column '$part.$name', which the state of $subject does not have"
      )
    }
  }

  private def typed(field: StructField)(found: Found): Expression = {
    if (stripped(found.dataType) != stripped(field.dataType)) {
      throw invalid(
        s"Column '${found.name}' of the rows is ${found.dataType.sql}, and the state of $subject has ${field.dataType.sql} there"
      )
    }
    found.expression
  }

  private def invalid(problem: String) = {
    def told(schema: StructType) =
      unique(schema.fieldNames.toSeq)
        .zip(schema.fields)
        .filter(_._2.dataType != NullType)
        .map { case (name, f) => s"$name ${f.dataType.sql}" }
        .mkString(", ")
    val value = told(family.valueSchema)
    new InvalidException(
      problem,
      s"Its key is ${told(family.keySchema)}" + (if (value.isEmpty) "."
                                                 else s"; its value is $value.")
    )
  }
}

private[move] object FrameColumns {

  /** Throws `InvalidException` where a column is missing, is too many, or is of another type. */
  def of(frame: StructType, operator: SourceOperator): RowShape =
    new FrameColumns(frame, operator, UpsertRules.familyOf(operator)).shape

  private final case class Found(name: String, expression: Expression, dataType: DataType)
  private final val TimersFirst = "{\"$timers\":"

  /** Columns of Spark's `statestore` source, and of a scan's, that say where a key lay. */
  private val Ignored = Set("partition_id")

  private val DocumentDefaults: Map[String, Expression] =
    Map("version" -> Literal(1), "timeout" -> Literal(UpsertRules.NoTimeout))

  /** A type without what it says of nulls and of its columns' metadata. */
  def stripped(dataType: DataType): DataType = dataType match {
    case s: StructType => StructType(s.fields.map(f => StructField(f.name, stripped(f.dataType))))
    case ArrayType(element, _)  => ArrayType(stripped(element))
    case MapType(key, value, _) => MapType(stripped(key), stripped(value))
    case other                  => other
  }
}
