package io.bucketstate.store

import java.nio.file.Path
import java.time.Instant

import org.scalatest.concurrent.Eventually
import org.scalatest.time.{Millis, Seconds, Span}

import io.bucketstate.checkpoint.io.{Attempt, CheckpointFiles, FileStore, ManifestName}
import io.bucketstate.error.ConflictException
import io.bucketstate.record.Expiry
import io.bucketstate.testkit.StoreHarness._
import io.bucketstate.testkit.{
  MemoryFileStore,
  Refusal,
  SetClock,
  StoreHarness,
  TempFolder,
  TidySuite
}

/**
 * Without checkpoint ids, an attempt that was given up for lost replaces a version after the next one was built on it. By
 * processing time its records have other times than the ones that were counted.
 */
class ReplacedAttemptSuite extends TidySuite with Eventually {

  implicit override val patienceConfig: PatienceConfig =
    PatienceConfig(timeout = Span(20, Seconds), interval = Span(20, Millis))

  private def second(n: Int): Instant = Instant.ofEpochSecond(n.toLong)

  /** A store whose keys expire by the clock. */
  private def aging(folder: Path, clock: SetClock): StoreHarness = {
    val expiry = Expiry(10L, Some(100L), byProcessingTime = true)
    new StoreHarness(new MemoryFileStore, folder, Some(expiry), clock)
  }

  for (late <- Seq(false, true))
    test(s"keys are counted by the times that the files have, replaced by a later attempt: $late") {
      TempFolder.use { folder =>
        val clock = new SetClock(Instant.ofEpochSecond(1000))
        val harness = aging(folder, clock)
        val first = harness.open(withIds = false)
        batch(first, 0)("a" -> Some("1"))
        clock.set(second(1050))
        batch(first, 1)("b" -> Some("1"), "c" -> Some("1"))
        batch(first, 2)("d" -> Some("1"))
        first.close()
        clock.set(second(if (late) 1070 else 1010))
        val zombie = harness.open(withIds = false)
        batch(zombie, 1)("b" -> Some("1"), "c" -> Some("1"))
        zombie.close()

        clock.set(second(1130))
        val restarted = harness.open(withIds = false)
        for (version <- 3 until 8) {
          clock.set(clock.instant().plusSeconds(10))
          val keys = Seq("e", "f").map(k => s"$k$version")
          val session = batch(restarted, version.toLong)(keys.map(_ -> Some("2")): _*)
          val there = read(restarted, version + 1L)
          assert(
            session.table.families.head.keyCount == Some(there.size),
            s"after ${clock.instant()}"
          )
          assert(there.contains("b") == clock.instant().isBefore(second(if (late) 1180 else 1120)))
        }
        restarted.close()
        val again = harness.open(withIds = false)
        val reader = again.openForRead(Attempt(8))
        assert(reader.table.families.head.keyCount == Some(contents(reader.table, 8).size))
        reader.end()
        again.close()
      }
    }

  test("keys are counted by what the files have where the next version said that none are left") {
    TempFolder.use { folder =>
      val clock = new SetClock(second(1000))
      val harness = aging(folder, clock)
      val first = harness.open(withIds = false)
      batch(first, 0)("a" -> Some("1"))
      clock.set(second(1050))
      batch(first, 1)("b" -> Some("1"))
      clock.set(second(1300))
      assert(batch(first, 2)().table.families.head.keyCount == Some(0L))
      first.close()
      clock.set(second(1290))
      late(harness, 1, "b" -> Some("1"))

      clock.set(second(1310))
      val restarted = harness.open(withIds = false)
      assert(read(restarted, 3).keySet == Set("b"))
      assert(batch(restarted, 3)("c" -> Some("1")).table.families.head.keyCount == Some(2L))
      assert(read(restarted, 4).keySet == Set("b", "c"))
      harness.close()
    }
  }

  test("a version that should have no keys, and has some of a late attempt, is an error") {
    StoreHarness.use { harness =>
      val first = harness.open(withIds = false)
      batch(first, 0)("a" -> Some("1"))
      batch(first, 1)("a" -> None)
      first.close()
      late(harness, 0, "a" -> Some("1"), "b" -> Some("1"))
      val restarted = harness.open(withIds = false)
      val refused = intercept[Refusal.CannotLoad](read(restarted, 2))
      assert(refused.getMessage.contains("keys"))
    }
  }

  private val inCommit = Seq("snapshot.mode" -> "sync", "snapshot.maxVersions" -> "2")
  private val small = inCommit :+ "memory.maxBytes" -> "1m" // less than the state takes

  /** With so many versions in memory the newest is ahead of any database while a batch is made on top of it. */
  private final val BehindDatabase = 3

  private def manifests(files: FileStore): Seq[Long] =
    files.list("").map(f => CheckpointFiles.parse(f.name)).collect { case Some(m: ManifestName) =>
      m.version
    }

  /** Four versions, of which the second has a snapshot, and a late attempt at the third; then it is restarted. */
  private def withRestarted(settings: Seq[(String, String)] = small, inMemory: Int = 2)(
      body: (StoreHarness, OpenStore, FileStore) => Unit
  ): Unit =
    TempFolder.use { folder =>
      val files = new MemoryFileStore
      val harness = new StoreHarness(files, folder, inMemory = inMemory)
      val first = harness.open(withIds = false, inCommit: _*)
      batch(first, 0)((0 until 100).map(n => s"k$n" -> Some("0" * 30000)): _*)
      batch(first, 1)("a" -> Some("1"))
      batch(first, 2)("b" -> Some("2"))
      assert(manifests(files) == Seq(2L))
      batch(first, 3)("c" -> Some("3"))
      first.close()
      late(harness, 2, "b" -> Some("2"))
      try body(harness, harness.open(withIds = false, settings: _*), files)
      finally harness.close()
    }

  /** What an attempt leaves that was given up for lost, and goes on. */
  private def late(harness: StoreHarness, batch: Long, changes: (String, Option[String])*): Unit = {
    val zombie = harness.open(withIds = false, "snapshot.maxVersions" -> "1000")
    StoreHarness.batch(zombie, batch)(changes: _*)
    zombie.close()
  }

  test("what was restored over a replaced version gets its snapshots, with more state than memory") {
    withRestarted() { (harness, restarted, files) =>
      batch(restarted, 4)("d" -> Some("4"))
      assert(manifests(files).max == 4)
      batch(restarted, 5)("e" -> Some("5"))
      batch(restarted, 6)("f" -> Some("6"))
      assert(manifests(files).max == 6)
      val there = read(restarted, 7)
      assert(there.size == 106)
      restarted.close()
      assert(read(harness.open(withIds = false, small: _*), 7) == there)
    }
  }

  for {
    (engine, inMemory) <- Seq("heap" -> 2, "rocksdb" -> BehindDatabase)
    isForced <- Seq(false, true)
  }
    test(
      "a version that is replaced while it is in memory is loaded anew for snapshots, " +
        s"engine: $engine, forced: $isForced"
    ) {
      withRestarted(small :+ "engine" -> engine, inMemory) { (harness, restarted, files) =>
        batch(restarted, 4)("d" -> Some("4"))
        batch(restarted, 5)("e" -> Some("5"))
        late(harness, 4, "d" -> Some("late"))
        if (isForced) {
          def forced() = batch(restarted, 6, forceSnapshot = true)("f" -> Some("6"))
          val refused = intercept[ConflictException](forced())
          assert(refused.getMessage.contains("was replaced after the next one was built on it"))
          forced()
        } else {
          batch(restarted, 6)("f" -> Some("6"))
          assert(manifests(files).max == 4)
          batch(restarted, 7)("g" -> Some("7"))
        }
        assert(manifests(files).max == 7)
        val newest = if (isForced) 7L else 8L
        val there = read(restarted, newest)
        assert(there("d") == "late" && there("f") == "6")
        restarted.close()
        assert(read(harness.open(withIds = false, small: _*), newest) == there)
      }
    }

  test("so it is for snapshots beside the batches, which a database never catches up with") {
    val beside = small.filter(_._1 != "snapshot.mode") :+ "engine" -> "rocksdb"
    withRestarted(beside, BehindDatabase) { (harness, restarted, files) =>
      batch(restarted, 4)("d" -> Some("4"))
      eventually(assert(manifests(files).max == 4))
      batch(restarted, 5)("e" -> Some("5"))
      late(harness, 4, "d" -> Some("late"))
      var version = 6L
      eventually {
        batch(restarted, version)(s"f$version" -> Some("6"))
        version += 1
        assert(manifests(files).max > 5)
      }
      val there = read(restarted, version)
      assert(there("e") == "5" && there("f6") == "6")
      restarted.close()
      assert(read(harness.open(withIds = false, small: _*), version) == there)
    }
  }
}
