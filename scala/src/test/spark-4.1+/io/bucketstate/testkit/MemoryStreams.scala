package io.bucketstate.testkit

import org.apache.spark.sql.execution.streaming.runtime.MemoryStream
import org.apache.spark.sql.{Encoder, SparkSession}

/** Spark's streams of what a test adds, by the constructor, which has not changed since, unlike the calls that lead to it. */
object MemoryStreams {
  def of[A: Encoder](id: Int, spark: SparkSession): MemoryStream[A] = new MemoryStream[A](id, spark)
}
