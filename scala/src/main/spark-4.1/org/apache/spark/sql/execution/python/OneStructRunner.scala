package org.apache.spark.sql.execution.python

import org.apache.spark.api.python.ChainedPythonFunctions
import org.apache.spark.sql.execution.metric.SQLMetric
import org.apache.spark.sql.types.StructType

/** Spark's runner, whose constructor is another one with each minor version. */
private[python] abstract class OneStructRunner(
    functions: Seq[(ChainedPythonFunctions, Long)],
    evalType: Int,
    offsets: Array[Array[Int]],
    schema: StructType,
    zone: String,
    workers: Map[String, String],
    metrics: Map[String, SQLMetric],
    artifacts: Option[String],
    session: Option[String]
) extends ArrowPythonRunner(
      functions,
      evalType,
      offsets,
      schema,
      zone,
      false,
      workers,
      metrics,
      artifacts,
      session,
      None
    )
