package io.bucketstate.spark

/** The Spark of these sources. */
private[spark] object BuiltFor {
  val Minor = "4.0"
}
