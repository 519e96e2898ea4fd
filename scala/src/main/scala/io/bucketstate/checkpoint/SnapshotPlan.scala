package io.bucketstate.checkpoint

/**
 * What a decision about the next snapshot rests on.
 *
 * @param covered   the version of the newest manifest, 0 if there is none
 * @param committed the newest version that no retry can replace any more
 * @param bytes     changelog bytes of the versions after `covered` up to `committed`
 * @param running   whether a snapshot of this store is under way
 * @param forced    a version after which a snapshot was asked for
 */
final case class SnapshotSituation(
    covered: Long,
    committed: Long,
    bytes: Long,
    running: Boolean = false,
    forced: Option[Long] = None
)

/**
 * When to take a snapshot: after so many versions or so much change (HDHT's flush interval and flush
 * size), whichever comes first, or when one was asked for.
 */
final case class SnapshotPlan(maxVersions: Int, maxBytes: Long) {

  /**
   * The versions to put into a run now, if any. They always reach up to the newest committed version,
   * so that requests which came while another snapshot was running are served by one; and never
   * further, because a version that is not committed may still be replaced. A version that was forced
   * before it is committed is served as soon as it is.
   */
  def next(now: SnapshotSituation): Option[VersionSpan] = {
    val versions = now.committed - now.covered
    def forced = now.forced.exists(v => now.covered < v && v <= now.committed)
    if (now.running || versions <= 0) None
    else if (versions >= maxVersions || now.bytes >= maxBytes || forced) {
      Some(VersionSpan(now.covered + 1, now.committed))
    } else None
  }
}
