package io.bucketstate.spark.rows

import org.apache.spark.sql.types.{DataType, TimeType}

/** What the golden keys ask of Spark's types. */
private[rows] object SparkTypes {

  /** By their names in a schema's JSON. */
  val missing: Set[String] = Set.empty

  def isTimeOfDay(dataType: DataType): Boolean = dataType.isInstanceOf[TimeType]
}
