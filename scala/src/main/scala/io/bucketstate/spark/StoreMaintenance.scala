package io.bucketstate.spark

import java.time.{Clock, Duration, Instant}
import java.util.concurrent.atomic.AtomicLong

import org.slf4j.LoggerFactory

import io.bucketstate.checkpoint.{FileStore, Retention, RetentionPlan, RetentionRules}
import io.bucketstate.error.BucketstateException

/**
 * What Spark's maintenance threads do for a store. Every run would list the folder, which on an object
 * store is the bill (SPARK-48931); so it runs once when the store is new, to clear up after a crash, and
 * then only as often as something can have become deletable.
 *
 * Never throws for what storage does: a failure is counted, logged with its cause and tried again.
 */
private[spark] final class StoreMaintenance(
    store: FileStore,
    minVersionsToRetain: Int,
    clock: Clock,
    interval: Duration = RetentionPlan.DefaultGrace
) {
  private[this] val log = LoggerFactory.getLogger(classOf[StoreMaintenance])
  private[this] val retention =
    new Retention(store, clock, RetentionRules(minVersionsToRetain))
  private[this] val failureCount = new AtomicLong
  @volatile private[this] var nextRun = Instant.MIN

  def failures: Long = failureCount.get

  /** @param latest the newest version this provider knows to be durable */
  def run(latest: Long): Unit = {
    val now = clock.instant()
    if (!now.isBefore(nextRun)) {
      nextRun = now.plus(interval)
      try {
        val report = retention.run(latest)
        report.deleted.foreach(d =>
          log.info("Deleted {} in {}: {}", d.name, store.location, d.reason)
        )
        report.failed.foreach { case (d, cause) =>
          failureCount.incrementAndGet()
          log.warn(
            s"Could not delete ${d.name} in ${store.location}; the next run tries again",
            cause
          )
        }
        report.unreadable.foreach { case (manifest, cause) =>
          log.warn(s"${manifest.name} in ${store.location} cannot be read; its files stay", cause)
        }
      } catch {
        case e: BucketstateException =>
          failureCount.incrementAndGet()
          log.warn(s"Could not list ${store.location} to clean it up; the next run tries again", e)
      }
    }
  }
}
