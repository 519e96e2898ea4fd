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

  /** Rows of output, and beside them, with no relation to them, what is done with the next keys. */
  def answer(row: StructType, state: StructType): StructType =
    new StructType()
      .add("row", row)
      .add("action", ByteType)
      .add("state", state)
      .add("timeout", LongType)
}
