package io.bucketstate.rocksdb.follower

import io.bucketstate.checkpoint.io.Attempt
import io.bucketstate.history.{CommitPoint, Follow, StoreLine, StoreLineSuite}
import io.bucketstate.rocksdb.follower.DatabaseState._
import io.bucketstate.testkit.TidySuite

/** The life of a local database as values: what a state may become, and what is done in each. */
class DatabaseStateSuite extends TidySuite {
  import StoreLineSuite._

  private val cause = new IllegalStateException("no disk")
  private val line = committed(restored(3), 4L to 6L).settledUpTo(5)
  private val holding = Holding(point(3), on = 1L, goal = 5L)

  private def step(state: DatabaseState, events: Event*): DatabaseState =
    events.foldLeft(state)(DatabaseState.after)

  private def follow(line: StoreLine, at: CommitPoint): Follow.Next = line.after(at) match {
    case next: Follow.Next => next
    case other             => fail(s"$other")
  }

  private def taskOf(
      state: DatabaseState,
      on: StoreLine,
      isLasting: Boolean = false,
      isSound: Boolean = true
  ): Task = {
    val after = state match {
      case now: Holding => on.after(now.at)
      case _            => Follow.Nothing
    }
    DatabaseState.next(state, Some(on), after, isSound, isLasting)
  }

  test("from nothing to a database that is offered, version by version") {
    val made = step(Absent, Event.Began(point(3), 1L), Event.Made(point(3), 1L, settled = 5L))
    assert(made == holding)
    val written =
      step(made, Event.Wrote(follow(line, point(3)), 1L), Event.Wrote(follow(line, point(4)), 1L))
    assert(written == holding.copy(at = point(5)))
    assert(taskOf(written, line) == Task.Offer(point(5), line))
    val offered = step(written, Event.WasOffered(Offered(1L, point(5), isTaken = true), 5L))
    assert(taskOf(offered, line) == Task.Rest)
    assert(
      taskOf(offered, line.settledUpTo(6)) == Task.Write(
        follow(line.settledUpTo(6), point(5)),
        line.settledUpTo(6)
      )
    )
  }

  test("what does not follow is not written: a gap, a sibling, the same again") {
    val gap = Follow.Next(point(3), line.at(5).get)
    val sibling = Follow.Next(point(3, "other"), line.at(4).get)
    Seq(gap, sibling, follow(line, point(4))).foreach { next =>
      intercept[IllegalStateException](step(holding, Event.Wrote(next, 1L)))
    }
  }

  test("after a roll back, a version that is made again is known by its commit") {
    val again = restored(4, number = 2L)
    val same = commit(again, 5).settledUpTo(5)
    val other = commit(again, 5, "again").settledUpTo(5)
    def task(at: Long, on: StoreLine) = {
      val before = Offered(1L, point(at), isTaken = true)
      taskOf(Holding(point(at), on = 1L, goal = at, offered = Some(before)), on)
    }
    // Below the version that was undone: it goes on.
    Seq(same, other).foreach { on =>
      assert(task(4, on) == Task.Offer(point(4), on))
      val offered = Some(Offered(2L, point(4), isTaken = true))
      val now = Holding(point(4), on = 1L, goal = 4L, offered)
      assert(taskOf(now, on) == Task.Write(follow(on, point(4)), on))
    }
    // At it: it has the same one, and not the other one.
    assert(task(5, same) == Task.Offer(point(5), same))
    assert(task(5, other) == Task.Drop)
    // Above it, or before it was made again: nothing leads from there.
    Seq(same, other).foreach(on => assert(task(6, on) == Task.Drop))
    assert(task(5, again) == Task.Drop)
    // Once what is above comes again as the same commit, that is what it has, too.
    val whole = commit(same, 6).settledUpTo(6)
    assert(task(6, whole) == Task.Offer(point(6), whole))
  }

  test("what cannot be is refused, and a store that is closed is closed whatever comes") {
    val next = follow(line, point(3))
    val offered = Offered(1L, point(3), isTaken = true)
    val beginning = Beginning(point(3), 1L)
    val failed = Failed(1L, cause)
    val refused = Seq(
      Absent -> Event.Made(point(3), 1L, 3L),
      Absent -> Event.Wrote(next, 1L),
      Absent -> Event.WasOffered(offered, 3L),
      Absent -> Event.Left(Attempt(3)),
      Absent -> Event.Dropped,
      beginning -> Event.Began(point(3), 1L),
      beginning -> Event.Wrote(next, 1L),
      beginning -> Event.Left(Attempt(3)),
      holding -> Event.Began(point(3), 1L),
      holding -> Event.Made(point(3), 1L, 3L),
      holding -> Event.WasOffered(Offered(1L, point(4), isTaken = true), 3L),
      failed -> Event.Began(point(3), 1L),
      failed -> Event.Made(point(3), 1L, 3L),
      failed -> Event.Wrote(next, 1L)
    )
    refused.foreach { case (state, event) =>
      intercept[IllegalStateException](step(state, event))
      assert(step(state, Event.Close, event) == Closed)
    }
    assert(taskOf(Closed, line) == Task.Rest)
  }

  test("nothing begins before there is a commit on the table that was loaded") {
    assert(taskOf(Absent, restored(3)) == Task.Rest)
    assert(taskOf(Absent, line) == Task.Begin(None, CommitPoint.Empty, line))
    val manifest = manifestOf(3)
    val snapshot = commit(restored(3, Some(manifest)), 4)
    assert(taskOf(Absent, snapshot) == Task.Begin(Some(manifest), point(3), snapshot))
    assert(
      DatabaseState.next(
        Absent,
        None,
        Follow.Nothing,
        isSound = true,
        isLasting = true
      ) == Task.Rest
    )
  }

  test("what a table that was loaded anew does not lead over is dropped") {
    val other = commit(restored(2, number = 2L), 3, "other").settledUpTo(3)
    assert(taskOf(holding, other) == Task.Drop)
    assert(step(holding, Event.Dropped) == Absent)
    val same = commit(restored(3, number = 2L), 4, "other").settledUpTo(4)
    assert(taskOf(holding, same) == Task.Write(follow(same, point(3)), same))
  }

  test("a gap on the line that led there is a failure, and not begun again and again") {
    val gone = line.copy(steps = line.steps.drop(2))
    val task =
      DatabaseState.next(holding, Some(gone), Follow.Elsewhere, isSound = true, isLasting = false)
    assert(task == Task.Fail(point(3), gone))
  }

  test("a database that RocksDB could not read is told of where it is read, else dropped") {
    val read = holding.copy(offered = Some(Offered(1L, point(3), isTaken = true)))
    assert(taskOf(read, line, isSound = false) == Task.Fail(point(3), line))
    assert(taskOf(read, restored(3, number = 2L), isSound = false) == Task.Drop)
    assert(taskOf(holding, line, isSound = false) == Task.Drop)
  }

  test("a failure is there until the table is loaded anew") {
    val failed = step(holding, Event.Broke(1L, cause))
    assert(failed == Failed(1L, cause) && taskOf(failed, line) == Task.Rest)
    assert(taskOf(failed, restored(3, number = 2L)) == Task.Drop)
    assert(step(Beginning(point(3), 1L), Event.Broke(1L, cause)) == failed)
  }

  test(
    "a database that lags is offered at the versions that were settled when it was offered last"
  ) {
    val lagging = committed(restored(3), 4L to 20L).settledUpTo(20)
    assert(
      taskOf(holding.copy(at = point(4)), lagging) == Task.Write(follow(lagging, point(4)), lagging)
    )
    val there = holding.copy(at = point(5))
    assert(taskOf(there, lagging) == Task.Offer(point(5), lagging))
    val offered = step(there, Event.WasOffered(Offered(1L, point(5), isTaken = true), 20L))
    assert(offered == there.copy(goal = 20L, offered = Some(Offered(1L, point(5), isTaken = true))))
    assert(taskOf(offered, lagging).isInstanceOf[Task.Write])
  }

  test(
    "a table that was loaded anew is offered what is there, from the version on that it began with"
  ) {
    val offered = holding.copy(offered = Some(Offered(1L, point(3), isTaken = true)))
    assert(taskOf(offered, line.settledUpTo(3)).isInstanceOf[Task.Write])
    val again = restored(3, number = 2L)
    assert(taskOf(offered, again) == Task.Offer(point(3), again))
    val newer = restored(6, Some(manifestOf(2)), tail = 3L to 6L, number = 2L)
    assert(taskOf(offered, newer) == Task.Write(follow(newer, point(3)), newer))
  }

  test("a local state is left once for each snapshot, when there is nothing else to do") {
    val snapshot = committed(restored(3), 4L to 6L).settledUpTo(5).published(manifestOf(5))
    val there = holding.copy(at = point(5), offered = Some(Offered(1L, point(5), isTaken = true)))
    assert(taskOf(there, snapshot) == Task.Rest)
    assert(taskOf(there, snapshot, isLasting = true) == Task.Leave(Attempt(5)))
    assert(taskOf(there.copy(offered = None), snapshot, isLasting = true).isInstanceOf[Task.Offer])
    val left = step(there, Event.Left(Attempt(5)))
    assert(taskOf(left, snapshot, isLasting = true) == Task.Rest)
  }
}
