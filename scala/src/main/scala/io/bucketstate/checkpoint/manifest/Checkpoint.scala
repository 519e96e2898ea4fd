package io.bucketstate.checkpoint.manifest

import io.bucketstate.checkpoint.changelog.RecentChangelogs
import io.bucketstate.checkpoint.io.FileStore
import io.bucketstate.checkpoint.records.KnownFamilies
import io.bucketstate.checkpoint.run.read.RunAccess
import io.bucketstate.record.BucketAssigner

/**
 * The checkpoint of one store: its files, and what they are written and read with. Holds what it is given
 * and closes nothing of it. Thread-safe.
 *
 * @param folder    the folder
 * @param buckets  how many there are
 * @param families which column families the files may hold
 * @param runs     its files of sorted records
 */
final class Checkpoint(
    val folder: FileStore,
    val buckets: BucketCount,
    val families: KnownFamilies,
    val runs: RunAccess
) {

  /** Places keys in buckets: see [[BucketCount.assigner]]. */
  def assigner: BucketAssigner = buckets.assigner

  /** Which of its manifests and data files turned out to be damaged. */
  private[bucketstate] val trust: ManifestTrust = new ManifestTrust

  /** What was committed last. */
  val recent: RecentChangelogs = new RecentChangelogs(folder)
}
