package io.bucketstate.spark.plan

/** Spark 4.1 asks no provider's name before it runs `transformWithState`: nothing can be missing. */
private[bucketstate] object ExtensionCheck {
  def verify(): Unit = ()
}
