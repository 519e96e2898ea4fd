package io.bucketstate.store

import java.time.{Duration, Instant}

import scala.util.Random

import io.bucketstate.checkpoint.io.{
  Attempt,
  CheckpointFiles,
  FileStore,
  RunName,
  TemporaryName,
  VersionedFile
}
import io.bucketstate.config.Engine
import io.bucketstate.error.UnavailableException
import io.bucketstate.testkit.StoreHarness._
import io.bucketstate.testkit.{TidySuite, _}

/** Versions that savepoints hold can be read whatever retention deletes, in stores of both engines. */
class SavepointRetentionSuite extends TidySuite {
  private val start = Instant.parse("2024-03-01T00:00:00Z")
  private val retained = 2
  private val settings =
    Seq("snapshot.mode" -> "sync", "snapshot.maxVersions" -> "3", "restore.mode" -> "eager")

  private def versions(files: FileStore): Seq[Long] =
    files.list("").map(f => CheckpointFiles.parse(f.name)).collect { case Some(f: VersionedFile) =>
      f.version
    }

  /** One more batch on the last of these, and the attempt that it made. */
  private def grow(store: OpenStore, base: Attempt)(puts: (String, String)*): Attempt = {
    val session = batch(store, base.version, base.checkpointId)(puts.map { case (k, v) =>
      k -> Option(v)
    }: _*)
    Attempt(base.version + 1, session.ids.own)
  }

  for {
    engine <- Seq(Engine.Heap, Engine.RocksDb)
    withIds <- Seq(false, true)
    seed <- 1 to 3
  } test(s"held versions stay, and go when they are dropped: ${engine.name}, ids: $withIds, $seed") {
    TempFolder.use { folder =>
      val chance = new Random(seed.toLong)
      val clock = new SetClock(start)
      val files = new MemoryFileStore(clock)
      val harness = new StoreHarness(files, folder, clock = clock, retained = retained)
      var held = Set.empty[Attempt]
      harness.pinned = () => held.toSeq
      val all = settings :+ ("engine" -> engine.name)
      try {
        var store = harness.open(withIds, all: _*)
        var at = Attempt(0L)
        var models = Map(0L -> Map.empty[String, String])
        def step(): Unit = {
          clock.set(clock.instant().plus(Duration.ofMinutes(20)))
          val puts = Seq.fill(3)(s"k${chance.nextInt(20)}" -> at.version.toString)
          at = grow(store, at)(puts: _*)
          models += at.version -> (models(at.version - 1) ++ puts)
          store.maintain()
          if (chance.nextInt(8) == 0) {
            store.close()
            store = harness.open(withIds, all: _*)
          }
        }
        for (_ <- 1 to 60) {
          step()
          if (chance.nextInt(10) == 0) held += at
          if (held.size > 3) held -= held.minBy(_.version)
          if (held.nonEmpty) {
            val fresh = harness.open(withIds, all: _*)
            held.foreach { h =>
              assert(read(fresh, h.version, h.checkpointId) == models(h.version), h)
            }
            fresh.close()
          }
        }
        assert(held.nonEmpty && versions(files).min <= held.map(_.version).min)
        held = Set.empty
        (1 to 8).foreach(_ => step())
        assert(versions(files).min >= at.version - retained - 5, "what was held has gone")
        store.close()
      } finally harness.close()
    }
  }

  test("while nobody can tell what is held nothing is deleted, and a warning says why") {
    TempFolder.use { folder =>
      val clock = new SetClock(start)
      val files = new MemoryFileStore(clock)
      val harness = new StoreHarness(files, folder, clock = clock, retained = retained)
      val path = "memory:/_bucketstate/savepoints/broken.json"
      try {
        val store = harness.open(withIds = false, settings: _*)
        var at = Attempt(0L)
        harness.pinned = () => throw new UnavailableException(path, "it could not be read", "Wait.")
        files.put(".7.changelog.01234567-89ab-cdef-0123-456789abcdef.tmp", Array(1))
        clock.set(start.plus(Duration.ofHours(2)))
        val warnings = Warnings.during("io.bucketstate.store.StoreMaintenance") {
          for (n <- 1 to 12) {
            at = grow(store, at)(s"k$n" -> "x")
            store.maintain()
          }
        }
        assert(versions(files).toSet == (1L to 12L).toSet)
        assert(files.list("").flatMap(f => CheckpointFiles.parse(f.name)).exists {
          case _: TemporaryName => true
          case _                => false
        })
        assert(warnings.nonEmpty && warnings.forall(_.startsWith("Nothing was deleted in memory:")))
        harness.pinned = () => Nil
        at = grow(store, at)("last" -> "x")
        store.maintain()
        assert(versions(files).min > 5)
        store.close()
      } finally harness.close()
    }
  }

  test("nobody asks what is held where nothing is to be deleted") {
    TempFolder.use { folder =>
      val files = new MemoryFileStore
      val harness = new StoreHarness(files, folder, retained = 100)
      var asked = 0
      harness.pinned = () => { asked += 1; Nil }
      try {
        val store = harness.open(withIds = false, settings: _*)
        (1 to 8).foldLeft(Attempt(0L)) { (at, n) =>
          val next = grow(store, at)(s"k$n" -> "x")
          store.maintain()
          next
        }
        assert(asked == 0)
        store.close()
      } finally harness.close()
    }
  }

  test("data files that only a held version names are not taken for those of failed writes") {
    TempFolder.use { folder =>
      val clock = new SetClock(start)
      val files = new MemoryFileStore(clock)
      val harness = new StoreHarness(files, folder, clock = clock, retained = retained)
      try {
        var store = harness.open(withIds = false, settings: _*)
        var at = Attempt(0L)
        while (runs(files).isEmpty) at = grow(store, at)(s"k${at.version + 1}" -> "x")
        val held = at
        harness.pinned = () => Seq(held)
        val named = runs(files)
        for (n <- held.version + 1 to held.version + 27) {
          clock.set(clock.instant().plus(Duration.ofHours(3)))
          at = grow(store, at)(s"k$n" -> "x")
          store.maintain()
          store.close()
          // One that knows nothing of before.
          store = harness.open(withIds = false, settings :+ ("compaction.maxRuns" -> "1"): _*)
        }
        assert(named.subsetOf(runs(files)) && runs(files).size > named.size)
        assert(read(store, held.version).keySet == (1L to held.version).map(n => s"k$n").toSet)
        store.close()
      } finally harness.close()
    }
  }

  private def runs(files: FileStore): Set[String] =
    files
      .list("runs")
      .map(_.name)
      .filter(CheckpointFiles.parse(_).exists(_.isInstanceOf[RunName]))
      .toSet
}
