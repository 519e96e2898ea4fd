package io.bucketstate.move.upsert

import org.apache.spark.sql.types.{IntegerType, LongType, StringType, StructField, StructType}

import io.bucketstate.error.InvalidException
import io.bucketstate.move.place.PlaceRules
import io.bucketstate.move.read.{SourceFamily, SourceOperator}

/** Which operators keep a key's state in one place, so that a row can take it. */
private[move] object UpsertRules {
  val GroupState = "groupState"
  val TimeoutTimestamp = "timeoutTimestamp"
  val NoTimeout = -1L

  private val Grouped = Set("flatMapGroupsWithState", "applyInPandasWithState")
  private val Aggregation = "stateStoreSave"
  private val WithinWatermark = "dedupeWithinWatermark"

  /** What `bucketstate.stateful` keeps of a key: see its module `codec.kept`. */
  private val Document =
    new StructType()
      .add("version", IntegerType)
      .add("timeout", LongType)
      .add("state", StringType)

  def isDocument(schema: StructType): Boolean =
    schema.fields
      .map(f => f.name -> f.dataType)
      .sameElements(Document.fields.map(f => f.name -> f.dataType))

  /** The column of a value that Spark's operator reads as a number, and of which a null would be 0; None without one. */
  def number(operator: String, value: StructType): Option[String] = {
    val name = operator match {
      case Aggregation             => Some("count")
      case WithinWatermark         => Some("expiresAtMicros")
      case other if Grouped(other) => Some(TimeoutTimestamp)
      case _                       => None
    }
    name.filter(n => value.fields.exists(isNumber(_, n)))
  }

  /** The schema of a value as it takes nulls. What is recorded since Spark 4.3 takes them everywhere, the number too. */
  def takingNulls(operator: String, value: StructType): StructType =
    number(operator, value).fold(value) { name =>
      StructType(value.fields.map(f => if (isNumber(f, name)) f.copy(nullable = false) else f))
    }

  private def isNumber(field: StructField, name: String): Boolean =
    field.name == name && field.dataType == LongType

  /** The state of a group within a value, where the operator keeps one. */
  def groupState(operator: SourceOperator, value: StructType): Option[StructType] =
    Option
      .when(Grouped(operator.name))(value.fields.find(_.name == GroupState))
      .flatten
      .map(_.dataType)
      .collect { case schema: StructType =>
        schema
      }

  /** The family that rows go into. Throws `InvalidException` for an operator that cannot take any. */
  def familyOf(operator: SourceOperator): SourceFamily = {
    def only = operator.stores.head.families.head
    operator.name match {
      case Aggregation | "dedupe" | WithinWatermark                                  => only
      case name if Grouped(name) && groupState(operator, only.valueSchema).isDefined => only
      case name if PlaceRules.TransformWithState(name) && keepsOneValue(operator)    => only
      case PlaceRules.Join                                                           =>
        throw refused(operator, "a join keeps its rows by number, and counts them elsewhere")
      case "sessionWindowStateStoreSaveExec" =>
        throw refused(operator, "a session is found by its start, and has it in its value, too")
      case "globalLimit" => throw refused(operator, "a limit keeps a count, and no keys")
      case name if PlaceRules.TransformWithState(name) =>
        val has = operator.stores.flatMap(_.families).map(f => s"'${f.name}'").mkString(", ")
        throw refused(
          operator,
          s"it keeps $has, and one value without timers and a time to live can be given"
        )
      case _ => throw refused(operator, "it keeps its state in a form of old")
    }
  }

  private def keepsOneValue(operator: SourceOperator): Boolean =
    operator.stores.flatMap(_.families).size == 1 &&
      operator.entry.variables.forall(_.kind == "ValueState")

  private def refused(operator: SourceOperator, why: String) = new InvalidException(
    s"Operator ${operator.id} is '${operator.name}', whose keys cannot be given as rows: $why",
    "Those of aggregations, deduplications, groups with a state and single value variables can. " +
      "Run the same query over the rows as its input instead, and hand its state over."
  )
}
