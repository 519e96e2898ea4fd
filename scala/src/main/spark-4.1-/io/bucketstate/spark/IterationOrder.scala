package io.bucketstate.spark

/** In what order Spark's operators want all pairs of a family whose keys have one. */
private[spark] object IterationOrder {

  /**
   * Spark 4.0 and 4.1 ask for no range: to find the timers and the times to live that are due, they iterate over all
   * of them up to the first that is not.
   */
  val isByKey: Boolean = true
}
