package io.bucketstate.store

import java.time.{Duration, Instant}

import scala.util.{Random, Success, Try}

import io.bucketstate.checkpoint.io.{Attempt, CheckpointFiles, FileStore, ManifestName}
import io.bucketstate.record.Expiry
import io.bucketstate.testkit.StoreHarness._
import io.bucketstate.testkit.{
  MemoryFileStore,
  SetClock,
  StoreHarness,
  TempFolder,
  TidySuite,
  WatchedFileStore
}

/**
 * Clocks of executors that are set forward and back, by hours and years, while the storage's clock is right: no file
 * goes that is needed, what is not needed goes when the clock is right again, and ages never run backwards.
 */
class ClockJumpsSuite extends TidySuite {
  private val start = Instant.parse("2024-03-01T00:00:00Z")
  private val jumps =
    Seq(Duration.ZERO, Duration.ofMinutes(59), Duration.ofHours(2), Duration.ofDays(400))
      .flatMap(by => Seq(by, by.negated))
  private val retained = 4
  private val inCommit = Seq("snapshot.mode" -> "sync", "snapshot.maxVersions" -> "3")

  private def changelogs(files: FileStore): Int =
    files.list("").count(_.name.endsWith(".changelog"))

  private def manifests(files: FileStore): Seq[Long] =
    files.list("").map(f => CheckpointFiles.parse(f.name)).collect { case Some(m: ManifestName) =>
      m.version
    }

  for (seed <- 1 to 5)
    test(s"retained versions can be read whatever an executor's clock shows: $seed") {
      TempFolder.use { folder =>
        val chance = new Random(seed.toLong)
        val (storage, executor) = (new SetClock(start), new SetClock(start))
        val files = new MemoryFileStore(storage)
        val harness = new StoreHarness(files, folder, clock = executor, retained = retained)
        try {
          var store = harness.open(withIds = false, inCommit: _*)
          var models = Vector(Map.empty[String, String])
          for (version <- 0 until 60) {
            storage.set(start.plusSeconds(version * 60L))
            executor.set(storage.instant().plus(jumps(chance.nextInt(jumps.size))))
            val puts = Seq.fill(3)(s"k${chance.nextInt(20)}" -> version.toString)
            batch(store, version.toLong)(puts.map { case (k, v) => k -> Some(v) }: _*)
            models = models :+ (models.last ++ puts)
            store.maintain()
            if (chance.nextInt(6) == 0) {
              store.close()
              store = harness.open(withIds = false, inCommit: _*)
            }
            val readable = math.max(0, version + 1 - retained + 1) to version + 1
            readable.foreach(v => assert(read(store, v.toLong) == models(v), s"$v at $version"))
          }
          // What had to wait for a clock that was behind goes with the next run.
          executor.set(storage.instant().plus(Duration.ofHours(2)))
          batch(store, 60)("last" -> Some("60"))
          store.maintain()
          assert(changelogs(files) <= retained + 3)
          assert(manifests(files).size <= 3, manifests(files))
          store.close()
        } finally harness.close()
      }
    }

  test(
    "an executor whose clock is ahead deletes a snapshot's files while another makes it: nothing is lost"
  ) {
    TempFolder.use { folder =>
      val (storage, ahead) = (new SetClock(start), new SetClock(start.plus(Duration.ofDays(1))))
      val files = new MemoryFileStore(storage)
      val others = new StoreHarness(files, folder, clock = ahead, retained = retained)
      var between = () => ()
      val watched = new WatchedFileStore(
        files,
        before = name => if (name.endsWith(".manifest")) { between(); between = () => () }
      )
      val harness = new StoreHarness(watched, folder, clock = storage, retained = retained)
      try {
        val store = harness.open(withIds = false, inCommit: _*)
        var committed = 0
        var model = Map.empty[String, String]
        var seen = Option.empty[Try[(Int, Int)]]
        between = () =>
          seen = Some(Try {
            // A store that still reads from files deletes none.
            val other = others.open(withIds = false, inCommit :+ ("restore.mode" -> "eager"): _*)
            val session = write(other, committed.toLong)
            val before = files.list("runs").size
            other.maintain()
            session.abort()
            session.end()
            before -> files.list("runs").size
          })
        while (seen.isEmpty && committed < 10) {
          batch(store, committed.toLong)(s"k$committed" -> Some("x"))
          model += s"k$committed" -> "x"
          committed += 1
        }
        assert(seen.contains(Success((1, 0))), "its one file is deleted before it is named")
        def goOn(in: OpenStore, from: Int, until: Int): Unit =
          for (version <- from until until) {
            batch(in, version.toLong)(s"k$version" -> Some("x"))
            model += s"k$version" -> "x"
            in.maintain()
            assert(read(in, version + 1L) == model)
            val restarted = harness.open(withIds = false, inCommit: _*)
            assert(read(restarted, version + 1L) == model, s"after a restart at ${version + 1}")
            restarted.close()
          }
        goOn(store, committed, committed + 9)
        store.close()
        val restarted = harness.open(withIds = false, inCommit: _*)
        goOn(restarted, committed + 9, committed + 21)
        assert(changelogs(files) <= retained + 3, "snapshots are whole again")
        restarted.close()
      } finally {
        harness.close()
        others.close()
      }
    }
  }

  test(
    "by processing time, what is written while a clock is behind its own past does not expire at once"
  ) {
    TempFolder.use { folder =>
      val clock = new SetClock(start)
      val expiry = Expiry(10L, Some(100L), byProcessingTime = true)
      val harness = new StoreHarness(new MemoryFileStore, folder, Some(expiry), clock)
      try {
        var store = harness.open(withIds = false)
        batch(store, 0)("before" -> Some("1"))
        clock.set(start.plus(Duration.ofDays(400)))
        batch(store, 1)("ahead" -> Some("1"))
        assert(read(store, 2) == Map("ahead" -> "1"), "by the clock 400 days have gone by")
        clock.set(start.plusSeconds(60))
        store.close()
        store = harness.open(withIds = false)
        for (version <- 2 until 6) {
          batch(store, version.toLong)(s"behind $version" -> Some("1"))
          val now = read(store, version + 1L)
          assert(now.keySet == Set("ahead") ++ (2 to version).map(v => s"behind $v"))
          val reader = store.openForRead(Attempt(version + 1L))
          assert(reader.table.families.head.keyCount == Some(now.size))
          reader.end()
        }
        store.close()
      } finally harness.close()
    }
  }
}
