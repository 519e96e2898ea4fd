package io.bucketstate.store

import java.time.{Clock, Instant}

import scala.util.control.NonFatal

import org.slf4j.LoggerFactory

import io.bucketstate.checkpoint.io.{Attempt, FileStore}
import io.bucketstate.checkpoint.manifest.ManifestTrust
import io.bucketstate.checkpoint.retention.{
  MaintenancePlan,
  Pinned,
  Retention,
  RetentionRules,
  WinningIds
}

/**
 * What Spark's maintenance threads do for a store, when the [[MaintenancePlan]] says so. Throws no exception, whatever it
 * is that a client of some storage throws: Spark would unload the store under a running query. A failure is counted,
 * logged with its cause and tried again. Thread-safe.
 *
 * @param trust    what is known of damage in the files
 * @param inFlight data files that a snapshot under way builds on
 * @param held     see [[StoreHost.held]]
 */
private[bucketstate] final class StoreMaintenance(
    folder: FileStore,
    rules: RetentionRules,
    plan: MaintenancePlan,
    trust: ManifestTrust,
    inFlight: () => Set[String],
    held: Long => Seq[Attempt],
    clock: Clock
) {
  private[this] val log = LoggerFactory.getLogger(classOf[StoreMaintenance])
  private[this] val retention = new Retention(folder, clock, rules, trust)
  @volatile private[this] var failed = 0L
  private[this] var winners = WinningIds.WithoutIds
  private[this] var lines = Map.empty[Attempt, WinningIds] // that lead to what is held
  private[this] var last = Option.empty[(Instant, Long)]

  /** Files that the last run could not delete, or 1 if it failed before: a run that deletes them ends the alert. */
  def failures: Long = failed

  /**
   * @param latest the newest version that Spark has built on
   * @param since  a moment at which Spark had asked for that, or nobody had asked for any
   */
  def run(latest: Attempt, since: Long): Unit = synchronized {
    val now = clock.instant()
    if (plan.isDue(latest.version, now, last)) {
      last = Some(now -> latest.version)
      try failed = clean(latest, since)
      catch {
        case NonFatal(e) =>
          failed = 1
          log.warn(
            s"Nothing was deleted in ${folder.location}, because it is not known what is needed; a later run tries again",
            e
          )
      }
    }
  }

  /** How many files could not be deleted. */
  private def clean(latest: Attempt, since: Long): Long = {
    // Before the files are listed: what is in flight by then must not be missed.
    val building = inFlight()
    winners = WinningIds.leadingTo(folder, latest.version, latest.checkpointId, winners)
    val report = retention.run(latest.version, building, winners, () => pinned(since))
    report.lowest.foreach(version => winners = winners.from(version))
    report.deleted.foreach(d => log.info("Deleted {} in {}: {}", d.name, folder.location, d.reason))
    report.failed.foreach { case (d, cause) =>
      log.warn(s"Could not delete ${d.name} in ${folder.location}; a later run tries again", cause)
    }
    report.unreadable.foreach { case (manifest, cause) =>
      log.warn(s"${manifest.name} in ${folder.location} cannot be read; its files stay", cause)
    }
    report.failed.size.toLong
  }

  /** What of a line is known is not read again. */
  private def pinned(since: Long): Seq[Pinned] = {
    lines = held(since).iterator.map { at =>
      def read = WinningIds.leadingTo(folder, at.version, at.checkpointId, winners)
      at -> lines.getOrElse(at, read)
    }.toMap
    lines.iterator.map { case (at, line) => Pinned(at.version, line) }.toSeq
  }
}
