package org.apache.spark.sql.execution
package streaming

/** Where Spark 4.1 and later ones have these classes, which are one package above it in Spark 4.0. */
package object runtime {
  type StreamExecution = streaming.StreamExecution
  val StreamExecution: streaming.StreamExecution.type = streaming.StreamExecution

  type StreamingQueryWrapper = streaming.StreamingQueryWrapper

  type MemoryStream[A] = streaming.MemoryStream[A]
  val MemoryStream: streaming.MemoryStream.type = streaming.MemoryStream
}
