package org.apache.spark.sql.execution.python

import org.apache.spark.JobArtifactSet
import org.apache.spark.api.python.{ChainedPythonFunctions, PythonEvalType}
import org.apache.spark.sql.catalyst.expressions.PythonUDF
import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.execution.metric.SQLMetric
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types.{DataType, StructField, StructType}

/**
 * The runner of `mapInArrow`, for one function. Made on the driver, whose session it is of, and used by tasks.
 *
 * Slices of what comes back, as `spark.sql.execution.arrow.maxRecordsPerOutputBatch` asks for, are not made: an answer is
 * no output, and Spark 4.2.0 gives the last of its rows twice.
 *
 * @param input of one line
 */
final class ManyKeysRunner private (
    function: PythonUDF,
    input: StructType,
    zone: String,
    workers: Map[String, String],
    metrics: Map[String, SQLMetric],
    artifacts: Option[String],
    session: Option[String]
) extends Serializable {

  /** A runner for the calls of one task. */
  def started(): ArrowPythonRunner = new OneStructRunner(
    Seq((ChainedPythonFunctions(Seq(function.func)), function.resultId.id)),
    PythonEvalType.SQL_MAP_ARROW_ITER_UDF,
    Array(Array(0)),
    StructType(Seq(StructField("struct", input))),
    zone,
    workers,
    metrics,
    artifacts,
    session
  ) {
    override protected def arrowMaxRecordsPerOutputBatch: Int = 0
    override protected def arrowMaxBytesPerOutputBatch: Int = 0
  }
}

object ManyKeysRunner {
  def of(
      function: PythonUDF,
      input: StructType,
      conf: SQLConf,
      session: SparkSession,
      metrics: Map[String, SQLMetric]
  ): ManyKeysRunner = new ManyKeysRunner(
    function,
    input,
    conf.sessionLocalTimeZone,
    ArrowPythonRunner.getPythonRunnerConfMap(conf),
    metrics,
    JobArtifactSet.getCurrentJobArtifactState.map(_.uuid),
    Option(session).filter(_ => conf.pythonWorkerLoggingEnabled).map(_.sessionUUID)
  )

  /** Whether two types differ in what may be null alone. */
  def sameType(one: DataType, other: DataType): Boolean =
    DataType.equalsIgnoreCompatibleNullability(one.asNullable, other.asNullable)
}
