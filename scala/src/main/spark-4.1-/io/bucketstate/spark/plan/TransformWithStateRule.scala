package io.bucketstate.spark.plan

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.execution.ColumnarRule

/**
 * Changes no plan: the operators of Spark 4.0 and 4.1 accept every provider. It is here so that a session is set up in
 * the same way on each minor version.
 */
private[bucketstate] final class TransformWithStateRule(
    @annotation.unused session: SparkSession,
    @annotation.unused provider: String
) extends ColumnarRule
