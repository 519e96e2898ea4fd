package io.bucketstate.spark.rows

import org.apache.spark.sql.types.DataType

/** What the golden keys ask of Spark's types: Spark 4.0 has none for a time of day. */
private[rows] object SparkTypes {

  /** By their names in a schema's JSON. */
  val missing: Set[String] = Set("time(6)")

  def isTimeOfDay(@annotation.unused dataType: DataType): Boolean = false
}
