package org.apache.spark.sql.execution.python

import scala.collection.immutable.ArraySeq

import org.apache.spark.api.python.SimplePythonFunction
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.PythonUDF
import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.execution.streaming.operators.stateful.StatefulOperatorStateInfo
import org.apache.spark.sql.execution.streaming.state._
import org.apache.spark.sql.types.{BinaryType, StructType}
import org.apache.spark.util.SystemClock

/** What an operator of state variables needs of Spark that is its own. */
object ManyKeysVariables {
  // Each variable has schemas of its own.
  private val AnyKey = new StructType().add("key", BinaryType)
  private val AnyValue = new StructType().add("value", BinaryType)

  /** The rows of each partition, with its store for variables. */
  def withStores(rows: RDD[InternalRow], info: StatefulOperatorStateInfo, session: SparkSession)(
      task: (StateStore, Iterator[InternalRow]) => Iterator[InternalRow]
  ): RDD[InternalRow] =
    rows.mapPartitionsWithStateStore[InternalRow](
      info,
      AnyKey,
      AnyValue,
      NoPrefixKeyStateEncoderSpec(AnyKey),
      session.sqlContext.sessionState,
      Some(session.streams.stateStoreCoordinator),
      useColumnFamilies = true,
      useMultipleValuesPerKey = true
    )(task)

  /** By the clock that Spark takes its own metrics with. */
  def nanos(): Long = clock.nanoTime()

  private val clock = new SystemClock

  /** The pickle of a function and its output's type that a worker is given; None where Spark gives it otherwise. */
  def commandOf(function: PythonUDF): Option[Array[Byte]] = function.func match {
    case simple: SimplePythonFunction => Some(simple.command.toArray)
    case _                            => None
  }

  /** A function like this one, of another pickle. */
  def withCommand(function: PythonUDF, command: Array[Byte]): PythonUDF = function.func match {
    case simple: SimplePythonFunction =>
      function.copy(func = simple.copy(command = ArraySeq.unsafeWrapArray(command)))
    case other => throw new IllegalArgumentException(s"no command in ${other.getClass.getName}")
  }
}
