package io.bucketstate.store

import java.time.{Clock, Duration, Instant}
import java.util.concurrent.atomic.AtomicLong

import org.slf4j.LoggerFactory

import io.bucketstate.checkpoint.io.{Attempt, FileStore}
import io.bucketstate.checkpoint.retention.{Retention, RetentionPlan, RetentionRules, WinningIds}
import io.bucketstate.error.BucketstateException

/**
 * What Spark's maintenance threads do for a store. Every run lists the folder, which on an object store
 * is the bill (SPARK-48931). So it runs once when the store is new, to clear up after a crash; then when
 * as many versions have become stale as Spark's `ratioExtraSpaceAllowedInCheckpoint` says; and from time
 * to time for what failed writes have left.
 *
 * Never throws for what storage does: a failure is counted, logged with its cause and tried again.
 *
 * Where Spark unloads the store after each batch (`unloadOnCommit`), every batch's is new: then it runs
 * with every so-manieth version alone.
 *
 * @param minVersionsToDelete 0 or less to run every time
 * @param isUnloaded          whether the store lives for one batch
 * @param inFlight            data files that a snapshot under way builds on
 */
private[bucketstate] final class StoreMaintenance(
    store: FileStore,
    rules: RetentionRules,
    minVersionsToDelete: Long,
    isUnloaded: Boolean,
    inFlight: () => Set[String],
    clock: Clock,
    interval: Duration = RetentionPlan.DefaultGrace
) {
  private[this] val log = LoggerFactory.getLogger(classOf[StoreMaintenance])
  private[this] val retention = new Retention(store, clock, rules)
  private[this] val failureCount = new AtomicLong
  private[this] var winners = WinningIds.WithoutIds
  private[this] var nextRun = Instant.MIN
  private[this] var lastLatest = 0L

  def failures: Long = failureCount.get

  /** @param latest the newest version that Spark has built on */
  def run(latest: Attempt): Unit = synchronized {
    val now = clock.instant()
    if (isDue(latest, now)) {
      nextRun = now.plus(interval)
      lastLatest = latest.version
      try clean(latest)
      catch {
        case e: BucketstateException =>
          failureCount.incrementAndGet()
          log.warn(s"Could not list ${store.location} to clean it up; a later run tries again", e)
      }
    }
  }

  private def isDue(latest: Attempt, now: Instant): Boolean =
    if (isUnloaded) minVersionsToDelete <= 0 || latest.version % minVersionsToDelete == 0
    else latest.version - lastLatest >= minVersionsToDelete || !now.isBefore(nextRun)

  private def clean(latest: Attempt): Unit = {
    // Before the files are listed: what is in flight by then must not be missed.
    val building = inFlight()
    winners = WinningIds.leadingTo(store, latest.version, latest.checkpointId, winners)
    val report = retention.run(latest.version, building, winners)
    report.lowest.foreach(version => winners = winners.from(version))
    report.deleted.foreach(d => log.info("Deleted {} in {}: {}", d.name, store.location, d.reason))
    report.failed.foreach { case (d, cause) =>
      failureCount.incrementAndGet()
      log.warn(s"Could not delete ${d.name} in ${store.location}; a later run tries again", cause)
    }
    report.unreadable.foreach { case (manifest, cause) =>
      log.warn(s"${manifest.name} in ${store.location} cannot be read; its files stay", cause)
    }
  }
}
