package io.bucketstate.checkpoint.retention

import java.time.{Duration, Instant}

/**
 * When a store's folder is listed to clean it up. Every run lists the folder, which on an object store is
 * the bill (SPARK-48931). So it runs once when the store is new, to clear up after a crash; then when as
 * many versions have become stale as Spark's `ratioExtraSpaceAllowedInCheckpoint` says; and from time to
 * time for what failed writes have left.
 *
 * Where Spark unloads the store after each batch (`unloadOnCommit`), every batch's is new: then it runs
 * with every so-manieth version alone.
 *
 * @param minVersionsToDelete 0 or less to run every time
 * @param isUnloaded          whether the store lives for one batch
 * @param interval            the longest time between two runs
 */
private[bucketstate] final case class MaintenancePlan(
    minVersionsToDelete: Long,
    isUnloaded: Boolean,
    interval: Duration = RetentionPlan.DefaultGrace
) {

  /**
   * @param latest the newest version that Spark has built on
   * @param last   when the run before was, and with which version; None for a new store
   */
  def isDue(latest: Long, now: Instant, last: Option[(Instant, Long)]): Boolean =
    if (isUnloaded) minVersionsToDelete <= 0 || latest % minVersionsToDelete == 0
    else
      last.forall { case (at, version) =>
        // Before the last one: the clock was set back, perhaps by years.
        latest - version >= minVersionsToDelete || now.isBefore(at) ||
        !now.isBefore(at.plus(interval))
      }
}
