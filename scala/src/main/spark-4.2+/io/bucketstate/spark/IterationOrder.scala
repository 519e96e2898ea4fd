package io.bucketstate.spark

/** In what order Spark's operators want all pairs of a family whose keys have one. */
private[spark] object IterationOrder {

  /** Where the order matters they ask for a range. */
  val isByKey: Boolean = false
}
