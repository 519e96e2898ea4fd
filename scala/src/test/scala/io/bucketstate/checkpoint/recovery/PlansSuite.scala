package io.bucketstate.checkpoint.recovery
import java.time.{Clock, Duration, Instant, ZoneOffset}
import java.util.UUID

import io.bucketstate.checkpoint.io.{Attempt, ListedFile, ManifestName}
import io.bucketstate.checkpoint.retention.{KnownManifest, Retention, RetentionPlan, RetentionRules}
import io.bucketstate.error.{CorruptException, InvalidException, UnavailableException}
import io.bucketstate.testkit.{Fault, FaultyFileStore, MemoryFileStore, TidySuite}

class PlansSuite extends TidySuite {
  private val now = Instant.parse("2020-01-02T00:00:00Z")
  private val id = UUID.fromString("01234567-89ab-cdef-0123-456789abcdef")
  private def listed(name: String, age: Duration = Duration.ofDays(1)) =
    ListedFile(name, 1, now.minus(age).toEpochMilli)
  private def changelogs(versions: Seq[Int]) = versions.map(v => listed(s"$v.changelog"))
  private def manifest(version: Long) = ManifestName(Attempt(version))

  /** What goes of these files and of manifests that need no run. */
  private def planned(files: Seq[ListedFile], latest: Long, retain: Int, snapshots: Long*) = {
    val known = snapshots.map(v => KnownManifest(manifest(v), Some(Set.empty)))
    val all = files ++ snapshots.map(v => listed(manifest(v).name))
    val plan = RetentionPlan(all, known, latest, RetentionRules(retain), now)
    plan.map(_.name).filterNot(_.endsWith(".manifest")).toSet
  }

  private def recovery(target: Long, manifests: Iterable[Long] = Nil) =
    RecoveryPlan.to(target, manifests, Nil, 100, _ => true)

  private def base(target: Long, manifests: Iterable[Long]): Long =
    recovery(target, manifests).next(None, Nil).get

  test("recovery replays every changelog when there is no snapshot") {
    assert(recovery(0).bases == Seq(0L))
    assert(recovery(3).bases == Seq(0L))
    assertThrows[InvalidException](recovery(-1))
  }

  test("recovery starts at the newest snapshot that is not above the target") {
    val snapshots = Set(4L, 9L, 7L)
    assert(base(8, snapshots) == 7)
    assert(base(7, snapshots) == 7)
    assert(base(3, snapshots) == 0)
    assert(recovery(8, snapshots).bases == Seq(7L, 4L, 0L))
  }

  private def passed(version: Long, reason: PassReason) =
    PassedOver(manifest(version), reason, new CorruptException("f", "p", "r"))

  test("every base is tried once, an older one only as far as repair may replay") {
    for {
      maxReplay <- Seq(0, 3, 6, 100)
      distrusted <- Seq(Nil, Seq(9L), Seq(9L, 3L))
      reasons <- Seq(PassReason.Damaged, PassReason.Stale, PassReason.Gone).combinations(2)
    } {
      val plan = RecoveryPlan.to(10, Seq(8L, 5L, 2L), distrusted, maxReplay, _ => true)
      val tried = Seq.newBuilder[Long]
      var (last, over) = (Option.empty[Long], Seq.empty[PassedOver])
      var following = plan.next(last, over)
      while (following.nonEmpty) {
        following.foreach { at =>
          val isRepair = distrusted.exists(_ > at) || over.exists(_.reason == PassReason.Damaged)
          assert(plan.repairs(at, over) > 0 == isRepair)
          assert(!isRepair || 10 - at <= maxReplay, "no longer replay than repair allows")
          tried += at
          over :+= passed(at, reasons((at % 2).toInt))
        }
        last = following
        following = plan.next(last, over)
      }
      val all = tried.result()
      assert(all == all.distinct.sorted.reverse && all.toSet.subsetOf(Set(8L, 5L, 2L, 0L)))
      if (maxReplay == 100) assert(all == Seq(8L, 5L, 2L, 0L))
      if (distrusted.isEmpty) assert(all.head == 8)
    }
  }

  test("without a self-contained version every changelog stays") {
    assert(planned(changelogs(1 to 500), 500, 2).isEmpty)
  }

  test("only changelogs up to the snapshot under the oldest retained version go") {
    val files = changelogs(1 to 500)
    val upTo90 = (1 to 90).map(v => s"$v.changelog").toSet
    assert(planned(files, 200, 100, 50, 90, 102, 150) == upTo90)
    assert(planned(files, 200, 100, 101) == (1 to 101).map(v => s"$v.changelog").toSet)
    assert(planned(files, 200, 100, 102).isEmpty)
    // The newest one tells a retry whether memory is still what counts.
    assert(planned(files, 90, 1, 90) == upTo90 - "90.changelog")
    assert(planned(files, 90, 0, 90) == upTo90 - "90.changelog")
    assert(planned(files, 5, 100, 5).isEmpty)
  }

  test("whatever is deleted, every retained version can still be recovered") {
    for {
      latest <- 1 to 12
      retain <- 1 to 5
      bits <- 0 until 64
    } {
      val snapshots = (0 until 6).filter(i => (bits >> i & 1) == 1).map(i => 2L * i + 1)
      val gone = planned(changelogs(1 to latest), latest.toLong, retain, snapshots: _*)
      for (v <- math.max(1, latest - retain + 1) to latest) {
        val needed = (base(v.toLong, snapshots) + 1 to v.toLong).map(n => s"$n.changelog")
        assert(!needed.exists(gone), s"latest $latest, retain $retain, snapshots $snapshots")
      }
    }
  }

  test("temporary files go once they are older than the grace period, unknown files never") {
    val old = s".7.changelog.$id.tmp"
    val spark = s".8.changelog.$id.TID3.tmp"
    val young = s".9.changelog.$id.tmp"
    val files = Seq(
      listed(old, Duration.ofMinutes(61)),
      listed(spark),
      listed(young, Duration.ofMinutes(59)),
      listed("notes.txt"),
      listed("1.delta"),
      listed("_metadata")
    )
    assert(planned(files, 10, 1) == Set(old, spark))
    val reasons = RetentionPlan(files, Nil, 10, RetentionRules(1), now).map(_.reason)
    assert(reasons.forall(_.contains("unfinished since 2020-01-01T")))
  }

  test("retention looks in both folders, and one failed deletion does not stop the others") {
    val clock = Clock.fixed(now, ZoneOffset.UTC)
    val inner = new MemoryFileStore(Clock.offset(clock, Duration.ofDays(-1)))
    val names = Seq(s".7.changelog.$id.tmp", s"runs/.7-0-$id.sst.$id.tmp", "7.changelog")
    names.foreach(inner.put(_, Array.emptyByteArray))
    val store = new FaultyFileStore(inner)
    store.failAt(3, Fault.Before)
    val first = new Retention(store, clock, RetentionRules(1)).run(latest = 7)
    assert(first.deleted.size == 1 && first.failed.size == 1)
    assert(first.failed.forall(_._2.isInstanceOf[UnavailableException]))
    val second = new Retention(store, clock, RetentionRules(1)).run(latest = 7)
    assert(second.deleted == first.failed.map(_._1) && second.failed.isEmpty)
    assert(inner.list().map(_.name) == Seq("7.changelog"))
  }
}
