package io.bucketstate.checkpoint

/**
 * Which files are of the history that led to the newest version, and which of attempts that lost. With
 * checkpoint format 1 files have no ids and all are of the one history; with format 2 a version may
 * have files of several ids, of which the lineage names the one that counts.
 *
 * @param ids checkpoint ids by version, as far back as they are known
 */
final case class WinningIds(ids: Map[Long, String]) {

  /** Whether this is known to be the file of that version that counts. */
  def owns(version: Long, id: Option[String]): Boolean =
    ids.get(version).fold(id.isEmpty)(id.contains)

  /** Whether this is known to be of an attempt that lost. */
  def rejects(version: Long, id: Option[String]): Boolean =
    ids.get(version).exists(!id.contains(_))
}

object WinningIds {

  /** Of checkpoint format 1. */
  val WithoutIds: WinningIds = WinningIds(Map.empty)
}
