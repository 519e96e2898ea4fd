package io.bucketstate.spark

/** In what order Spark's operators want all pairs of a family whose keys have one. */
private[spark] object IterationOrder {

  /**
   * Spark 4.1 asks for no range: to find the timers and the times to live that are due, it iterates over all of them
   * up to the first that is not.
   */
  val isByKey: Boolean = true
}
