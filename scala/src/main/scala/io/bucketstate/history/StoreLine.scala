package io.bucketstate.history

import java.util.UUID

import io.bucketstate.checkpoint.io.Attempt
import io.bucketstate.checkpoint.manifest.Manifest
import io.bucketstate.checkpoint.recovery.Recovered

/**
 * A version of a [[StoreLine]].
 *
 * @param keys    of each family in which they are counted exactly, as far as that is known
 * @param changes that led to it, as long as somebody who follows the line needs them, and they are in memory
 */
private[bucketstate] final case class LineStep(
    point: CommitPoint,
    keys: Map[Int, Long] = Map.empty,
    changes: Option[Unwritten] = None
) {
  def version: Long = point.version

  def bytes: Long = changes.fold(0L)(_.bytes)
}

/** What comes after a commit on a [[StoreLine]]. */
private[bucketstate] sealed trait Follow

private[bucketstate] object Follow {

  /** This version, made on top of just that commit, and nobody can undo it any more. */
  final case class Next(base: CommitPoint, step: LineStep) extends Follow

  /** Nothing yet that cannot be undone. */
  case object Nothing extends Follow

  /** The line begins after it: the files know. */
  case object Earlier extends Follow

  /** It does not lead to where the line is: another commit has its place, or it was taken back. */
  case object Elsewhere extends Follow
}

/**
 * The commits that lead to a store's newest version, each made on top of the one before: those that its table was
 * restored over, and those that were committed since. Immutable.
 *
 * Invariants: the versions of `steps` have no gap; the last is the table's newest; none up to `settled` is undone, unless
 * the table is loaded anew, and then there is another line.
 *
 * @param number   no other line of the store has it
 * @param base     the version that the table began with
 * @param steps    the oldest first; one at least
 * @param settled  the oldest version that can still be opened
 * @param restored the snapshot that the table was restored from
 * @param newer    the newest that was published since
 * @param followed what follows the line is at this version, or will begin there; None where nothing does
 * @param bytes    of the changes of all steps
 */
private[bucketstate] final case class StoreLine private (
    number: Long,
    base: Long,
    steps: Vector[LineStep],
    settled: Long,
    restored: Option[Manifest],
    newer: Option[Manifest],
    followed: Option[Long],
    bytes: Long
) {
  import StoreLine._

  def newest: Long = steps.last.version

  /** Whether anything was committed since the table was loaded. */
  def hasCommits: Boolean = newest > base

  def at(version: Long): Option[LineStep] =
    Option.when(version >= steps.head.version && version <= newest)(steps(countBefore(version)))

  /** That commit, if the line leads over it. */
  def pointOf(attempt: Attempt, commitId: Option[UUID]): Option[CommitPoint] =
    at(attempt.version).map(_.point).filter(_.isOf(attempt, commitId))

  def holds(point: CommitPoint): Boolean = at(point.version).exists(_.point == point)

  def after(point: CommitPoint): Follow = at(point.version) match {
    case Some(step) if step.point != point          => Follow.Elsewhere
    case None if point.version < steps.head.version => Follow.Earlier
    case None                                       => Follow.Elsewhere
    case _ if point.version >= settled              => Follow.Nothing
    case _                                          =>
      at(point.version + 1).fold[Follow](Follow.Nothing)(Follow.Next(point, _))
  }

  /** The newest snapshot to begin with that leads to where the line is; None for the empty store. */
  def seed: Option[Manifest] = (newer ++ restored).find(_.version <= settled)

  /** The commit that the seed holds. */
  def seedPoint: CommitPoint = seed.fold(CommitPoint.Empty) { manifest =>
    pointOf(manifest.attempt, manifest.commitId)
      .getOrElse(CommitPoint(manifest.attempt, manifest.commitId))
  }

  /**
   * A version was committed. One that is not the next begins the line anew: what leads to it is asked of the files.
   *
   * @param attempt  of the version
   * @param oldest   version that can still be opened
   * @param needless versions up to this one are of no use to the table, unless they can be opened
   */
  def committed(
      attempt: Attempt,
      commitId: UUID,
      keys: Map[Int, Long],
      changes: Option[Unwritten],
      oldest: Long,
      needless: Long
  ): StoreLine = {
    val step = LineStep(
      CommitPoint(attempt, Some(commitId), steps.last.point.reading),
      keys,
      changes.filter(_ => followed.isDefined)
    )
    if (step.version != newest + 1) copy(steps = Vector(step), bytes = step.bytes)
    else {
      val own = math.min(oldest, math.max(needless, step.version - Remembered) + 1)
      val from = followed.fold(own)(math.min(own, _))
      val gone = steps.take(countBefore(from))
      copy(
        steps = steps.drop(gone.size) :+ step,
        bytes = bytes + step.bytes - bytesOf(gone)
      )
    }
  }

  /** The versions above this one were undone. */
  def undoneAbove(version: Long): StoreLine = {
    val (kept, gone) = steps.splitAt(countBefore(version + 1))
    copy(
      steps = kept,
      newer = newer.filter(_.version <= version),
      bytes = bytes - bytesOf(gone)
    )
  }

  /** Versions below this one cannot be opened any more. */
  def settledUpTo(oldest: Long): StoreLine = copy(settled = math.max(settled, oldest))

  /** A snapshot was published: of use if it is one of a commit of the line. */
  def published(manifest: Manifest): StoreLine = {
    val isNewer = seed.forall(_.version < manifest.version)
    if (isNewer && pointOf(manifest.attempt, manifest.commitId).isDefined)
      copy(newer = Some(manifest))
    else this
  }

  /** The follower of the line has come to this version, and needs no changes up to it. */
  def followedTo(version: Long): StoreLine = followed.filter(_ != version).fold(this) { last =>
    val passed = countBefore(last + 1) until countBefore(version + 1)
    copy(
      steps = passed.foldLeft(steps)((all, n) => all.updated(n, all(n).copy(changes = None))),
      followed = Some(version),
      bytes = bytes - passed.iterator.map(steps(_).bytes).sum
    )
  }

  /** With commits before the first one, as the files have them; the newest of them is its base. */
  def extendedBack(earlier: Vector[CommitPoint]): StoreLine =
    if (earlier.lastOption.exists(_.version == steps.head.version - 1))
      copy(steps = earlier.map(LineStep(_)) ++ steps)
    else this

  /** How many steps are of versions below this one. */
  private def countBefore(version: Long): Int =
    math.max(0L, math.min(steps.size.toLong, version - steps.head.version)).toInt
}

private[bucketstate] object StoreLine {

  /** Versions older than memory's that are known: a snapshot may take so long. */
  private final val Remembered = 1000

  /**
   * What a table was restored over.
   *
   * @param checkpointId of its version
   * @param keys         that it holds
   */
  def of(
      recovered: Recovered,
      number: Long,
      checkpointId: Option[String],
      keys: Map[Int, Long],
      isFollowed: Boolean
  ): StoreLine = {
    val newest = Attempt(recovered.table.newest, checkpointId)
    val before = recovered.manifest.fold(CommitPoint.Empty)(m => CommitPoint(m.attempt, m.commitId))
    val doubted = recovered.replaced.minOption.getOrElse(Long.MaxValue)
    val tail = recovered.tail.map { v =>
      val reading = if (v.attempt.version >= doubted) number else 0L
      CommitPoint(v.attempt, Some(v.commitId), reading)
    }
    val points =
      if (tail.isEmpty) Vector(CommitPoint(newest, recovered.commitId))
      else before +: tail.toVector
    val steps = points.init.map(LineStep(_)) :+ LineStep(points.last, keys)
    StoreLine(
      number,
      newest.version,
      steps,
      settled = newest.version,
      restored = recovered.manifest,
      newer = None,
      followed = Option.when(isFollowed)(steps.head.version),
      bytes = 0L
    )
  }

  private def bytesOf(steps: Vector[LineStep]): Long = steps.iterator.map(_.bytes).sum
}
