package io.bucketstate.checkpoint.recovery

import java.util.UUID

import io.bucketstate.checkpoint.io.Attempt
import io.bucketstate.checkpoint.manifest.Manifest
import io.bucketstate.table.StateTable
import io.bucketstate.table.cold.BucketLoader

/**
 * A version brought back from its files; its buckets are loaded when they are touched.
 *
 * @param commitId       of the version, None for the empty store
 * @param manifest       what it was restored from, None for changelogs alone
 * @param tail           each version after the manifest, as it was replayed
 * @param repaired       manifests that were passed over because they were damaged
 * @param passed         manifests that were tried and passed over this time, the newest first
 * @param replaced       versions whose changelog another attempt has replaced after the next one was built
 * @param writtenUpTo    the highest version that may have a changelog: later ones had none when this was loaded
 * @param loader         what its buckets are loaded by
 */
final case class Recovered(
    table: StateTable,
    commitId: Option[UUID] = None,
    manifest: Option[Manifest] = None,
    tail: Seq[ReplayedVersion] = Nil,
    repaired: Int = 0,
    passed: Seq[PassedOver] = Nil,
    replaced: Seq[Long] = Nil,
    writtenUpTo: Long = 0L,
    loader: BucketLoader = BucketLoader.Empty
) {

  /** Commits of the replaced versions whose changes were taken all the same. */
  def followed: Map[Long, UUID] =
    tail.iterator
      .filter(v => replaced.contains(v.attempt.version))
      .map(v => v.attempt.version -> v.commitId)
      .toMap
}

/**
 * A version that was restored from its changelog.
 *
 * @param bytes of that
 */
final case class ReplayedVersion(attempt: Attempt, commitId: UUID, bytes: Long)
