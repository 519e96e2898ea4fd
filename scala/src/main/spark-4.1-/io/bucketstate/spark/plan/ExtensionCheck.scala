package io.bucketstate.spark.plan

/** Spark 4.0 and 4.1 ask no provider's name before they run `transformWithState`: nothing can be missing. */
private[bucketstate] object ExtensionCheck {
  def verify(): Unit = ()
}
