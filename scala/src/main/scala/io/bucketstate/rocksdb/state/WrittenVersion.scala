package io.bucketstate.rocksdb.state

import java.util.UUID

import io.bucketstate.checkpoint.changelog.ChangelogFamily
import io.bucketstate.checkpoint.io.Attempt
import io.bucketstate.record.TimeBuckets

/**
 * A version of a store that was written down in a database.
 *
 * @param commitId of the version, None for the empty store
 * @param families of the version, with the keys that they hold
 */
final case class WrittenVersion(
    attempt: Attempt,
    commitId: Option[UUID],
    families: Seq[ChangelogFamily]
) {
  def version: Long = attempt.version

  /** The time buckets of the families whose records have times, by number. */
  def times: Map[Int, TimeBuckets] = ChangelogFamily.timesOf(families)
}
