package io.bucketstate.history

import java.util.UUID
import java.util.concurrent.atomic.AtomicReference

import scala.annotation.tailrec

import io.bucketstate.checkpoint.io.{Attempt, FileStore}
import io.bucketstate.checkpoint.manifest.Manifest
import io.bucketstate.checkpoint.recovery.Recovered

/**
 * The commits that the table of a store consists of. Its keeper changes it together with the table, with its lock held;
 * whoever wants to come after it, such as a local database, asks what follows the commit that it is at. So nobody has to be
 * told of a restart, of a roll back or of another attempt, and nobody can miss one.
 *
 * Thread-safe; [[after]] and [[leadsFrom]] may read headers of changelogs, all else waits for nothing.
 *
 * @param isFollowed whether somebody follows it: else changes are not kept
 * @param unwritten  of all stores of the process
 */
private[bucketstate] final class StoreHistory(
    folder: FileStore,
    isFollowed: Boolean,
    unwritten: UnwrittenBytes
) {
  private[this] val current = new AtomicReference[StoreLine] // null while there is no table
  private[this] val earlier = new EarlierCommits(folder)
  private[this] var lines = 0L // the keeper's

  /** The line as it is now; None while there is no table. */
  def line: Option[StoreLine] = Option(current.get)

  /** What comes after a commit; nothing while there is no table. Throws `UnavailableException`. */
  def after(point: CommitPoint): Follow = {
    changed(line => if (line.holds(point)) line.followedTo(point.version) else line)
    knownAfter(point) match {
      case Follow.Earlier =>
        line.map(_.steps.head.point).fold[Follow](Follow.Nothing) { first =>
          val way = earlier.between(point, first)
          changed { line =>
            if (line.steps.head.point == first)
              line.extendedBack(way).followedTo(point.version)
            else line
          }
          if (way.isEmpty) Follow.Elsewhere else knownAfter(point)
        }
      case known => known
    }
  }

  /**
   * Whether the table's history leads on from a commit that an earlier process was at, and that process had the state which the
   * files lead to; not while there is no table. Throws `UnavailableException`.
   */
  def leadsFrom(point: CommitPoint): Boolean = line.exists { asked =>
    // To find the way back asks for the state, too.
    val leads = asked.after(point) match {
      case Follow.Elsewhere => false
      case Follow.Earlier   => after(point) != Follow.Elsewhere
      case _                => earlier.isOfOneState(point)
    }
    leads && line.exists(_.number == asked.number)
  }

  /** What comes after a commit, as far as memory knows. Reads nothing and changes nothing. */
  def knownAfter(point: CommitPoint): Follow = line.fold[Follow](Follow.Nothing)(_.after(point))

  /** Bytes of changes that wait for whoever follows. */
  def bytes: Long = bytesOf(current.get)

  /** Bytes of such changes of all stores of the process. */
  def bytesOfAll: Long = unwritten.total

  /** Whether whoever changes more has to wait, where so many bytes may: see [[UnwrittenBytes.areOver]]. */
  def isOver(most: Long): Boolean = unwritten.areOver(most, bytes)

  /** There is another table. The keeper's, as are all below but the last. */
  def begin(recovered: Recovered, checkpointId: Option[String], keys: Map[Int, Long]): Unit = {
    lines += 1
    become(StoreLine.of(recovered, lines, checkpointId, keys, isFollowed))
  }

  /** See [[StoreLine.committed]]. */
  def committed(
      attempt: Attempt,
      commitId: UUID,
      keys: Map[Int, Long],
      changes: Option[Unwritten],
      oldest: Long,
      needless: Long
  ): Unit = changed(_.committed(attempt, commitId, keys, changes, oldest, needless))

  /** The versions above this one were undone. */
  def undoAbove(version: Long): Unit = changed(_.undoneAbove(version))

  /** The versions below this one cannot be opened any more. */
  def settle(oldest: Long): Unit = changed(_.settledUpTo(oldest))

  /** There is no table any more. */
  def forget(): Unit = become(null)

  /** A snapshot was published, of whatever history. */
  def published(manifest: Manifest): Unit = changed(_.published(manifest))

  private def become(line: StoreLine): Unit =
    unwritten.changed(bytesOf(current.getAndSet(line)), bytesOf(line))

  /** What was there before is known for certain, so that what all stores have adds up. */
  @tailrec
  private def changed(change: StoreLine => StoreLine): Unit = {
    val before = current.get
    if (before != null) {
      val after = change(before)
      if (current.compareAndSet(before, after)) unwritten.changed(before.bytes, after.bytes)
      else changed(change)
    }
  }

  private def bytesOf(line: StoreLine): Long = if (line == null) 0L else line.bytes
}
