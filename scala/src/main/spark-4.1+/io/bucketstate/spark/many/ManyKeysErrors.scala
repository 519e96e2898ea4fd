package io.bucketstate.spark.many

import org.apache.spark.sql.types.DataType

import io.bucketstate.error.InvalidException

/** What a Python worker can do that its own side of the protocol would not. */
private[many] object ManyKeysErrors {
  private val Remedy =
    "Use the jar and the Python package of one version of bucketstate, on the driver and on all workers; " +
      "stateful.apply(..., many_keys=False) runs the function one key at a time."

  def otherType(found: DataType, expected: DataType): InvalidException = broken(
    s"sent ${found.sql}, and ${expected.sql} was expected"
  )

  def moreThanCalled(): InvalidException = broken("sent the states of more keys than it was given")

  def fewerThanCalled(left: Int): InvalidException = broken(
    s"ended without the states of the last $left keys that it was given"
  )

  def unknownAction(action: Byte): InvalidException = broken(
    s"sent the action $action, which this jar does not know"
  )

  def notCalled(method: String): IllegalStateException = new IllegalStateException(
    s"$method is not called by the operator of applyInPandasWithState"
  )

  private def broken(what: String): InvalidException =
    new InvalidException(s"The Python side of a stateful function $what", Remedy)
}
