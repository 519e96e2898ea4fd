package io.bucketstate.history

import java.util.UUID

import io.bucketstate.checkpoint.io.Attempt
import io.bucketstate.checkpoint.manifest.Manifest
import io.bucketstate.checkpoint.recovery.{Recovered, ReplayedVersion}
import io.bucketstate.record.{BucketAssigner, BucketKey, FamilySpec, Scans}
import io.bucketstate.rocksdb.state.{StateDatabase, WrittenVersion}
import io.bucketstate.table.StateTables
import io.bucketstate.testkit.{Changes, TidySuite}

/** What follows a commit: the next version that was made on top of it and cannot be undone, or nothing. */
class StoreLineSuite extends TidySuite {
  import StoreLineSuite._

  test("what follows is the next version, once it cannot be undone") {
    val line = committed(restored(3), 4L to 6L)
    assert(line.after(point(3)) == Follow.Nothing, "version 4 may be undone")
    val later = line.settledUpTo(5)
    assert(next(later, point(3)).contains(point(4)) && next(later, point(4)).contains(point(5)))
    assert(later.after(point(5)) == Follow.Nothing && later.after(point(6)) == Follow.Nothing)
  }

  test("another commit of a version has nothing that follows, nor has one above the newest") {
    val line = committed(restored(3), 4L to 6L).settledUpTo(6)
    Seq(point(4, "other"), point(7), point(3, "other")).foreach { other =>
      assert(line.after(other) == Follow.Elsewhere)
    }
  }

  test("a retry that replaces a version takes its place") {
    val line = committed(restored(3), 4L to 5L)
    val again = commit(line.undoneAbove(4), 5, "again").settledUpTo(5)
    assert(next(again, point(4)).contains(point(5, "again")))
    assert(again.after(point(5)) == Follow.Elsewhere)
    assert(line.undoneAbove(4).at(5).isEmpty)
  }

  test("a version that is made again as the same commit has the changes of the last time") {
    val line = committed(restored(3), 4L to 5L)
    val undone = line.undoneAbove(4)
    assert(undone.after(point(5)) == Follow.Elsewhere && undone.bytes == 10L)
    val last = new TenBytes
    val again = commit(undone, 5, changes = last).settledUpTo(5)
    assert(again.bytes == 20L && again.at(5).flatMap(_.changes).exists(_ eq last))
    assert(next(again, point(4)).contains(point(5)) && again.after(point(5)) == Follow.Nothing)
  }

  test("what does not follow the newest begins the line anew: nothing leads to it") {
    val line = commit(committed(restored(3), 4L to 5L), 7).settledUpTo(7)
    (3L to 5L).foreach(v => assert(line.after(point(v)) == Follow.Earlier))
    assert(line.at(7).map(_.point).contains(point(7)) && line.at(6).isEmpty)
    assert(line.extendedBack(Vector(point(4), point(5))) == line, "6 is missing")
    val whole = line.extendedBack(Vector(point(5), point(6)))
    assert(next(whole, point(5)).contains(point(6)) && next(whole, point(6)).contains(point(7)))
  }

  test("a table that was restored leads from its snapshot over each changelog") {
    val line = restored(6, manifest = Some(manifestOf(3)), tail = 4L to 6L)
    assert(line.seed.map(_.version).contains(3L) && line.seedPoint == point(3))
    (3L to 5L).foreach(v => assert(next(line, point(v)).contains(point(v + 1))))
    assert(line.after(point(2)) == Follow.Earlier && !line.hasCommits)
  }

  test("where a changelog was replaced, what was made of the one before is not what is read now") {
    val line = restored(6, manifest = Some(manifestOf(3)), tail = 4L to 6L, replaced = Seq(5L))
    assert(next(line, point(3)).contains(point(4)))
    val Follow.Next(_, fifth) = line.after(point(4)): @unchecked
    assert(fifth.point.isOf(Attempt(5), Some(idOf(5))) && fifth.point != point(5))
    assert(line.after(point(5)) == Follow.Elsewhere && line.after(point(6)) == Follow.Elsewhere)
    val on = commit(line, 7).settledUpTo(7)
    assert(next(on, on.at(6).get.point).exists(_.reading == line.number))
  }

  test("changes are kept until who follows has passed them, whatever the table remembers") {
    val line = committed(restored(0), 1L to 5L).settledUpTo(5)
    assert(line.bytes == 50L)
    val later = commit(line.followedTo(3), 6)
    assert(later.bytes == 30L && later.at(3).forall(_.changes.isEmpty))
    assert(later.at(4).exists(_.changes.isDefined))
    assert(later.undoneAbove(5).bytes == 20L)
    assert(later.followedTo(6).bytes == 0L)
  }

  test("what nobody follows keeps no changes, and only what the table may ask for") {
    val line = committed(restored(0, isFollowed = false), 1L to 5L)
    assert(line.bytes == 0L && line.steps.forall(_.changes.isEmpty))
    val later = commit(line, 6, oldest = 5L, needless = 4L)
    assert(later.steps.map(_.version) == Seq(5L, 6L))
  }

  test("a snapshot of a commit of the line is what to begin with, one of another is not") {
    val line = committed(restored(3, Some(manifestOf(3))), 4L to 6L).settledUpTo(5)
    assert(line.published(manifestOf(5)).seed.map(_.version).contains(5L))
    assert(line.published(manifestOf(5, "other")) == line)
    assert(line.published(manifestOf(6)).seed.map(_.version).contains(3L), "it may be undone")
    val undone = line.published(manifestOf(6)).undoneAbove(5)
    assert(commit(undone, 6, "again").settledUpTo(6).seed.map(_.version).contains(3L))
  }
}

object StoreLineSuite {
  private val assigner = new BucketAssigner(2)
  private val spec = FamilySpec(Changes.descriptor(0), BucketKey.Whole, Scans.Nothing)

  def idOf(version: Long, attempt: String = ""): UUID =
    UUID.nameUUIDFromBytes(s"$version$attempt".getBytes)

  def point(version: Long, attempt: String = ""): CommitPoint =
    CommitPoint(Attempt(version), Option.when(version > 0)(idOf(version, attempt)))

  def manifestOf(version: Long, attempt: String = ""): Manifest =
    Manifest("test", version, 2, BucketAssigner.HashName, Nil, Nil, Some(idOf(version, attempt)))

  private[bucketstate] def restored(
      version: Long,
      manifest: Option[Manifest] = None,
      tail: Seq[Long] = Nil,
      replaced: Seq[Long] = Nil,
      number: Long = 1L,
      isFollowed: Boolean = true
  ): StoreLine = {
    val recovered = Recovered(
      StateTables.heap(assigner, version, Seq(spec)),
      point(version).commitId,
      manifest,
      tail.map(v => ReplayedVersion(Attempt(v), idOf(v), 1L)),
      replaced = replaced
    )
    StoreLine.of(recovered, number, None, Map.empty, isFollowed)
  }

  private[bucketstate] def commit(
      line: StoreLine,
      version: Long,
      attempt: String = "",
      oldest: Long = 0L,
      needless: Long = -1L,
      changes: Unwritten = new TenBytes
  ): StoreLine =
    line.committed(
      Attempt(version),
      idOf(version, attempt),
      Map.empty,
      Some(changes),
      oldest,
      needless
    )

  private[bucketstate] def committed(line: StoreLine, versions: Seq[Long]): StoreLine =
    versions.foldLeft(line)((to, version) => commit(to, version))

  private[bucketstate] def next(line: StoreLine, after: CommitPoint): Option[CommitPoint] =
    line.after(after) match {
      case Follow.Next(base, step) if base == after => Some(step.point)
      case _                                        => None
    }

  private[bucketstate] final class TenBytes extends Unwritten {
    override def bytes: Long = 10L
    override def writeTo(database: StateDatabase): WrittenVersion =
      throw new UnsupportedOperationException
  }
}
