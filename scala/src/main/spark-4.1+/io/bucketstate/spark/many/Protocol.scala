package io.bucketstate.spark.many

import org.apache.spark.sql.types._

/**
 * What travels between the operator and a Python worker, as Arrow: see [[ManyKeysExec]].
 *
 * The Python package knows the same names, in `stateful/many/protocol.py`; [[Marker]] carries the number of the version,
 * so that neither side takes what it does not know.
 */
private[many] object Protocol {

  /** A function whose name begins so takes many keys in a call. */
  val Marker = "bucketstate-many-1:"

  /**
   * Within a pickled processor of `transformWithState`, the text that says that it takes many keys in a call. Behind
   * it stand its variables, of one value each: a name, `=` and a time to live in milliseconds or nothing, with commas
   * between, and a line's end.
   */
  val VariablesMarker = "bucketstate-many-variables-1:"

  /** Where there is no timeout, no processing time and no watermark. */
  val NoTime: Long = -1L

  /** What is done with the state of a key. A line without one settles no key. */
  val Untouched: Byte = 0
  val Put: Byte = 1
  val Removed: Byte = 2

  /**
   * One line per row of input. The first line of each key has its `call`; a key that timed out has that line alone,
   * without a row.
   */
  def input(key: StructType, state: StructType, row: StructType): StructType = {
    val call = new StructType()
      .add("key", key, nullable = false)
      .add("state", state)
      .add("timeout", LongType, nullable = false)
      .add("timed_out", BooleanType, nullable = false)
      .add("now", LongType, nullable = false)
      .add("watermark", LongType, nullable = false)
    new StructType().add("call", call).add("row", row)
  }

  /** How many fields a call has on every operator. */
  val CallFields = 6

  /** What an operator with variables stores of a key beside its parts, as the Python package has it. */
  val Document: StructType = new StructType()
    .add("version", IntegerType)
    .add("timeout", LongType)
    .add("state", StringType)

  /** A part as it is stored. */
  val Part: StructType = new StructType().add("value", StringType)

  /** As [[input]], for a call with variables: the timers that have fired, and the values of the parts. */
  def variablesInput(key: StructType, parts: Seq[String], row: StructType): StructType = {
    val whole = input(key, Document, row)
    val call = whole("call").dataType.asInstanceOf[StructType]
    new StructType()
      .add("call", withParts(call.add("fired", Times), parts, StringType))
      .add("row", whole("row").dataType)
  }

  /** Rows of output, and beside them, with no relation to them, what is done with the next keys. */
  def answer(row: StructType, state: StructType): StructType =
    new StructType()
      .add("row", row)
      .add("action", ByteType)
      .add("state", state)
      .add("timeout", LongType)

  /**
   * As [[answer]], for calls with variables: the timers that end and those that begin, and the parts that were
   * written, each with its value or without one where it was cleared.
   */
  def variablesAnswer(row: StructType, parts: Seq[String]): StructType =
    withParts(answer(row, Document).add("ended", Times).add("begun", Times), parts, Part)

  /** Not every version of Arrow has structs without fields. */
  private def withParts(fields: StructType, parts: Seq[String], each: DataType): StructType =
    if (parts.isEmpty) fields
    else fields.add("parts", StructType(parts.map(StructField(_, each))))

  private val Times = ArrayType(LongType)
}
