package org.apache.spark.sql.execution.streaming.state

/** The stores that a test opens: since Spark 4.1 each test ends its own. */
object OpenStores {
  def ended[T](body: => T): T = body
}
