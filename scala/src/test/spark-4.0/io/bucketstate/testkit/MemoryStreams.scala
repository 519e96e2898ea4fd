package io.bucketstate.testkit

import org.apache.spark.sql.execution.streaming.runtime.MemoryStream
import org.apache.spark.sql.{Encoder, SparkSession}

/** Spark's streams of what a test adds, which Spark 4.0 makes for a session by its older name. */
object MemoryStreams {
  def of[A: Encoder](id: Int, spark: SparkSession): MemoryStream[A] =
    new MemoryStream[A](id, spark.sqlContext)
}
