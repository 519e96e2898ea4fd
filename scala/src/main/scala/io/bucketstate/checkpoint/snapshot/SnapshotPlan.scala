package io.bucketstate.checkpoint.snapshot

/**
 * What a decision about the next snapshot rests on.
 *
 * @param covered   the version of the newest manifest, 0 if there is none
 * @param committed the newest version that no retry can replace any more
 * @param bytes     changelog bytes of the versions after `covered` up to `committed`
 * @param running   whether a snapshot of this store is under way
 */
final case class SnapshotSituation(
    covered: Long,
    committed: Long,
    bytes: Long,
    running: Boolean = false
)

/**
 * When to take a snapshot: after so many versions or so much change (HDHT's flush interval and flush
 * size), whichever comes first. It is always one of the newest committed version, so that requests which
 * came while another was running are served by one; and never of a later one, which a retry may replace.
 *
 * @param compactsBeside whether a snapshot in the background leaves the merging of older runs to a
 *                       [[Compaction]]: where a store lives for one batch, none would come to its end
 */
final case class SnapshotPlan(maxVersions: Int, maxBytes: Long, compactsBeside: Boolean = true) {

  def isDue(situation: SnapshotSituation): Boolean =
    isPossible(situation) && lag(situation.committed - situation.covered, situation.bytes) >= 1

  /** Whether one could be taken that covers more. */
  def isPossible(situation: SnapshotSituation): Boolean =
    !situation.running && situation.committed > situation.covered

  /** How much lies behind the newest manifest, in versions or bytes, whichever is more: 1 is due. */
  def lag(versions: Long, bytes: Long): Double =
    math.max(versions.toDouble / maxVersions, bytes.toDouble / maxBytes)
}
