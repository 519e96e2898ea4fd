package io.bucketstate.spark.many

import org.apache.spark.sql.execution.ColumnarRule

/**
 * Changes no plan: on Spark 4.0 a function for many keys runs on Spark's operator, one key at a time. It is here so
 * that a session is set up in the same way on each minor version.
 */
private[bucketstate] final class ManyKeysRule extends ColumnarRule
