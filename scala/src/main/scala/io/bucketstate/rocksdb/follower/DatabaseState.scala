package io.bucketstate.rocksdb.follower

import io.bucketstate.checkpoint.io.Attempt
import io.bucketstate.checkpoint.manifest.Manifest
import io.bucketstate.history.{CommitPoint, Follow, StoreLine}

/** How far a store's local database is. What it may become is [[DatabaseState.after]], what is to be done [[DatabaseState.next]]. */
private[bucketstate] sealed trait DatabaseState

private[bucketstate] object DatabaseState {

  /** There is none. */
  case object Absent extends DatabaseState

  /**
   * One is being made.
   *
   * @param from what it begins with, unless something later is found on this machine
   * @param on   number of the line that said so
   */
  final case class Beginning(from: CommitPoint, on: Long) extends DatabaseState

  /**
   * It holds the state at a commit.
   *
   * @param on      number of the line that led it there
   * @param goal    version at which it is offered to the table next, although there may be more to write
   * @param offered what it was when it was offered last
   * @param left    the newest snapshot for which it left a local state
   */
  final case class Holding(
      at: CommitPoint,
      on: Long,
      goal: Long,
      offered: Option[Offered] = None,
      left: Option[Attempt] = None
  ) extends DatabaseState

  /** It failed. Whoever opens a version of that line for writing is told, and another line begins anew. */
  final case class Failed(on: Long, cause: Throwable) extends DatabaseState

  /** There will be no other. */
  case object Closed extends DatabaseState

  /**
   * @param line    that was offered the database's state
   * @param isTaken whether the table reads from it
   */
  final case class Offered(line: Long, at: CommitPoint, isTaken: Boolean)

  sealed trait Event

  object Event {
    final case class Began(from: CommitPoint, on: Long) extends Event

    /** @param settled of the line then */
    final case class Made(at: CommitPoint, on: Long, settled: Long) extends Event
    final case class Wrote(next: Follow.Next, on: Long) extends Event

    /** @param settled of the line then */
    final case class WasOffered(offer: Offered, settled: Long) extends Event
    final case class Left(snapshot: Attempt) extends Event

    /** It was of no use, and is not there any more. */
    case object Dropped extends Event
    final case class Broke(on: Long, cause: Throwable) extends Event
    case object Close extends Event
  }

  /** What a state becomes. Throws where that cannot be: above all, what does not follow is not written. */
  def after(state: DatabaseState, event: Event): DatabaseState = (state, event) match {
    case (_, Event.Close) | (Closed, _)              => Closed
    case (Absent, Event.Began(from, on))             => Beginning(from, on)
    case (_: Beginning, Event.Made(at, on, settled)) => Holding(at, on, settled)
    case (held: Holding, Event.Wrote(next, on))
        if next.base == held.at && next.step.version == held.at.version + 1 =>
      held.copy(at = next.step.point, on = on)
    case (held: Holding, Event.WasOffered(offer, settled)) if offer.at == held.at =>
      held.copy(offered = Some(offer), goal = settled)
    case (held: Holding, Event.Left(snapshot))                  => held.copy(left = Some(snapshot))
    case (_, Event.Broke(on, cause))                            => Failed(on, cause)
    case (_: Beginning | _: Holding | _: Failed, Event.Dropped) => Absent
    case _ => throw new IllegalStateException(s"$event of a local database that is $state")
  }

  sealed trait Task

  object Task {

    /** @param seed a snapshot that holds `from`; None for the empty store */
    final case class Begin(seed: Option[Manifest], from: CommitPoint, on: StoreLine) extends Task
    final case class Write(next: Follow.Next, on: StoreLine) extends Task
    final case class Offer(at: CommitPoint, on: StoreLine) extends Task
    final case class Leave(snapshot: Attempt) extends Task

    /** It is of no use any more: another one begins. */
    case object Drop extends Task

    /** What should follow does not. */
    final case class Fail(at: CommitPoint, on: StoreLine) extends Task
    case object Rest extends Task
  }

  /**
   * What to do next.
   *
   * @param line     of the table; None while there is no table
   * @param follow   what comes after the commit that it holds
   * @param isSound   whether RocksDB has read and written all that it was asked to
   * @param isLasting whether what it leaves outlives it
   */
  def next(
      state: DatabaseState,
      line: Option[StoreLine],
      follow: Follow,
      isSound: Boolean,
      isLasting: Boolean
  ): Task = (state, line) match {
    // Not before the first commit: the first batch gets the machine for itself.
    case (Absent, Some(on)) if on.hasCommits => Task.Begin(on.seed, on.seedPoint, on)
    case (Failed(failed, _), Some(on)) if failed != on.number => Task.Drop
    case (held: Holding, Some(on)) if !isSound                =>
      // Whoever reads there is told of it, and loads the table anew.
      if (held.offered.exists(_.line == on.number)) Task.Fail(held.at, on) else Task.Drop
    case (held: Holding, Some(on)) => next(held, on, follow, isLasting)
    case _                         => Task.Rest
  }

  private def next(held: Holding, on: StoreLine, follow: Follow, isLasting: Boolean): Task = {
    val isNew = held.at.version >= on.base &&
      !held.offered.exists(o => o.line == on.number && o.at == held.at)
    follow match {
      // This very line led it there, so that there is no way to begin with what would be better.
      case Follow.Elsewhere if held.on == on.number                   => Task.Fail(held.at, on)
      case Follow.Elsewhere                                           => Task.Drop
      case next: Follow.Next if !isNew || held.at.version < held.goal => Task.Write(next, on)
      case _ if isNew                                                 => Task.Offer(held.at, on)
      case _                                                          =>
        on.newer
          .filter(m => isLasting && m.version <= held.at.version && !held.left.contains(m.attempt))
          .fold[Task](Task.Rest)(m => Task.Leave(m.attempt))
    }
  }
}
