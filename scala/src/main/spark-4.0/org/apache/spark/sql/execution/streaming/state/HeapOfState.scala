package org.apache.spark.sql.execution.streaming.state

/** What Spark 4.0 is told of memory that state takes of its own share of the heap: it asks nobody. */
object HeapOfState {
  def tell(@annotation.unused used: () => Long): Unit = ()
}
