package io.bucketstate.checkpoint.retention

import scala.collection.immutable.TreeMap
import scala.collection.mutable

import io.bucketstate.checkpoint.changelog.{ChangelogReader, Lineage}
import io.bucketstate.checkpoint.io.{Attempt, FileStore}
import io.bucketstate.error.{CorruptException, MissingException}

/**
 * Which files are of the history that led to the newest version, and which of attempts that lost. With
 * checkpoint format 1 files have no ids and all are of the one history; with format 2 a version may
 * have files of several ids, of which the lineage names the one that counts.
 *
 * @param ids checkpoint ids by version, as far back as they are known
 */
final case class WinningIds(ids: TreeMap[Long, String]) {

  /** Without what is below a version: there are no files of it any more. */
  def from(version: Long): WinningIds = WinningIds(ids.rangeFrom(version))

  /** Whether this is known to be the file of that version that counts. */
  def owns(version: Long, id: Option[String]): Boolean =
    ids.get(version).fold(id.isEmpty)(id.contains)

  /** Whether this is known to be of an attempt that lost. */
  def rejects(version: Long, id: Option[String]): Boolean =
    ids.get(version).exists(!id.contains(_))
}

object WinningIds {

  /**
   * Follows the headers back from a version that Spark has chosen, as far as there are files.
   *
   * @param known ids found before: where they agree, nothing needs to be read again
   */
  def leadingTo(
      folder: FileStore,
      version: Long,
      id: Option[String],
      known: WinningIds
  ): WinningIds = {
    val found = mutable.HashMap.empty[Long, String]
    var at = Attempt(version, id)
    var more = true
    while (
      more && at.checkpointId.isDefined && !known.ids
        .get(at.version)
        .exists(at.checkpointId.contains)
    ) {
      at.checkpointId.foreach(found.update(at.version, _))
      try at = Lineage.baseOf(folder, at, ChangelogReader.readHeader(folder, at))
      catch {
        case _: MissingException => more = false
        // As if it were gone: what is older has no known id, and goes with the next snapshot that needs none of it.
        case e: CorruptException if !e.isNewer => more = false
      }
    }
    // What was known above this point is of another history.
    WinningIds(known.ids.rangeTo(at.version) ++ found)
  }

  /** There are no ids with checkpoint format 1. */
  val WithoutIds: WinningIds = WinningIds(TreeMap.empty)
}
