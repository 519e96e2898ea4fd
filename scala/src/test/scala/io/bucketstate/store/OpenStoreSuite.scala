package io.bucketstate.store

import java.nio.charset.StandardCharsets.US_ASCII
import java.util.UUID

import scala.util.Random

import io.bucketstate.checkpoint.io.{Attempt, NioFileStore}
import io.bucketstate.config.MetricKey
import io.bucketstate.error.{
  ConflictException,
  CorruptException,
  MissingException,
  UnavailableException
}
import io.bucketstate.record.RecordOp
import io.bucketstate.testkit.StoreHarness._
import io.bucketstate.testkit.{
  Fault,
  FaultyFileStore,
  MemoryFileStore,
  Refusal,
  StoreHarness,
  TempFolder,
  TidySuite,
  WatchedFileStore
}

/** A store without Spark: what is opened, written, committed, given up and read. */
class OpenStoreSuite extends TidySuite {

  test("a version is what was committed on top of the one before, also after a restart") {
    TempFolder.use { folder =>
      val harness = new StoreHarness(new NioFileStore(folder.resolve("store")), folder)
      val store = harness.open(withIds = false)
      batch(store, 0)("a" -> Some("1"), "b" -> Some("1"))
      val second = batch(store, 1)("a" -> Some("2"), "b" -> None)
      assert(second.table.newest == 2)
      assert(read(store, 2) == Map("a" -> "2"))
      assert(store.close())
      assert(harness.told == Seq("committed 1", "committed 2"))

      val again = harness.open(withIds = false)
      assert(read(again, 2) == Map("a" -> "2"))
      assert(read(again, 1) == Map("a" -> "1", "b" -> "1"))
      assert(harness.told.drop(2) == Seq("restored", "restored"))
      again.close()
    }
  }

  test("what a storage's client fails with once, while a restart is verified, fails one batch") {
    TempFolder.use { folder =>
      var failures = 0
      val files = new WatchedFileStore(
        new NioFileStore(folder.resolve("store")),
        opening = name =>
          if (failures > 0 && name.endsWith(".changelog")) {
            failures -= 1
            throw new IllegalStateException("connection pool shut down")
          }
      )
      val harness = new StoreHarness(files, folder)
      val store = harness.open(withIds = false)
      // More than is read before the first get.
      val bytes = new Array[Byte](1 << 20)
      (0L until 2L).foreach { version =>
        val changes = (0 until 9).map { n =>
          new Random(version * 10 + n).nextBytes(bytes)
          s"$n" -> Option(new String(bytes.map(byte => (48 + (byte & 63)).toByte), US_ASCII))
        }
        batch(store, version)(changes: _*)
      }
      store.close()

      val again = harness.open(withIds = false)
      val session = write(again, 2)
      failures = 1
      val failure = intercept[IllegalStateException](session.commit())
      assert(failure.getMessage == "connection pool shut down")
      session.abort()
      session.end()
      batch(again, 2)("a" -> Some("1"))
      assert(read(again, 3).size == 10)
      harness.close()
    }
  }

  test("a writer sees its own changes, nobody else does until they are committed") {
    use { harness =>
      val store = harness.open(withIds = false)
      batch(store, 0)("a" -> Some("1"))
      val session = write(store, 1)
      change(session, "a" -> Some("2"))
      assert(contents(session.table, 2) == Map("a" -> "2"))
      assert(read(store, 1) == Map("a" -> "1"))
      assert(session.commit().keys == 1)
      session.end()
      assert(read(store, 2) == Map("a" -> "2"))
      store.close()
    }
  }

  test("what is aborted is not there, and the version can be opened again") {
    use { harness =>
      val store = harness.open(withIds = false)
      batch(store, 0)("a" -> Some("1"))
      val session = write(store, 1)
      change(session, "a" -> None, "b" -> Some("2"))
      session.abort()
      assert(session.current.keys == 1)
      session.end()
      assert(!harness.files.exists("2.changelog"))
      batch(store, 1)("c" -> Some("3"))
      assert(read(store, 2) == Map("a" -> "1", "c" -> "3"))
      store.close()
    }
  }

  test("a retry replaces the version that was committed, and a reader keeps the one it opened") {
    use { harness =>
      val store = harness.open(withIds = false)
      batch(store, 0)("a" -> Some("1"))
      batch(store, 1)("a" -> Some("first"))
      val reader = store.openForRead(Attempt(2))
      val retry = batch(store, 1)("a" -> Some("second"))
      assert(retry.table ne reader.table, "the reader would have lost its version")
      assert(contents(reader.table, 2) == Map("a" -> "first"))
      assert(read(store, 2) == Map("a" -> "second"))
      reader.end()
      store.close()
    }
  }

  test("a reader of an older version sees none of what came later") {
    use { harness =>
      val store = harness.open(withIds = false)
      batch(store, 0)("a" -> Some("1"))
      val reader = store.openForRead(Attempt(1))
      for (version <- 1 to 5) batch(store, version.toLong)("a" -> Some(s"${version + 1}"))
      assert(contents(reader.table, 1) == Map("a" -> "1"))
      reader.end()
      store.close()
    }
  }

  test("with ids two attempts at a version are two versions, and each can be gone on from") {
    use { harness =>
      val store = harness.open(withIds = true)
      val one = batch(store, 0)("a" -> Some("1"))
      val lost = batch(store, 1, one.ids.own)("a" -> Some("lost"))
      val won = batch(store, 1, one.ids.own)("a" -> Some("won"))
      assert(lost.ids.own != won.ids.own && lost.ids.base == one.ids.own)
      batch(store, 2, won.ids.own)("b" -> Some("2"))
      assert(read(store, 2, lost.ids.own) == Map("a" -> "lost"))
      assert(read(store, 2, won.ids.own) == Map("a" -> "won"))
      store.close()
    }
  }

  test("with ids the same changes of the same commit are the same attempt, in whichever order") {
    use { harness =>
      val store = harness.open(withIds = true)
      val changes = (1 to 50).map(n => s"k$n" -> Option(s"v$n"))
      val one = batch(store, 0)("k7" -> Some("1"), "k60" -> Some("1"))
      val two = batch(store, 1, one.ids.own)(changes :+ ("k60" -> None): _*)
      val again = batch(store, 1, one.ids.own)(("k60" -> None) +: changes.reverse: _*)
      assert(again.ids == two.ids && again.ids.base == one.ids.own)
      assert(harness.files.list().map(_.name).count(_.startsWith("2_")) == 1)
      val before = harness.told
      val three = batch(store, 2, two.ids.own)("k1" -> None)
      assert(!harness.told.drop(before.size).contains("restored"))
      val restarted = harness.open(withIds = true)
      assert(read(restarted, 3, three.ids.own) == (changes.drop(1).toMap.map { case (k, v) =>
        k -> v.get
      }))
      Seq(store, restarted).foreach(_.close())
    }
  }

  test("with ids changes that differ in anything, or of another commit, are another attempt") {
    use { harness =>
      val store = harness.open(withIds = true)
      val changes = (1 to 50).map(n => s"k$n" -> Option(s"v$n"))
      val one = batch(store, 0)("k7" -> Some("1"), "k60" -> Some("1")).ids.own
      val others = Seq(
        changes,
        changes.updated(9, "k10" -> Some("v1O")),
        changes.updated(9, "k1O" -> Some("v10")),
        changes.tail,
        changes.updated(6, "k7" -> None),
        changes :+ ("k60" -> None),
        changes :+ ("k61" -> None),
        changes
      )
      val made = others.map(batch(store, 1, one)(_: _*).ids.own)
      // To remove a key that is not there changes nothing.
      assert(made.distinct.size == 7 && made(6) == made(7) && made(0) != made(7))
      for ((its, id) <- others.zip(made)) {
        val wanted = its.foldLeft(Map("k7" -> "1", "k60" -> "1")) {
          case (all, (key, Some(value))) => all.updated(key, value)
          case (all, (key, None))        => all - key
        }
        assert(read(store, 2, id) == wanted)
      }
      val next = made.take(2).map(batch(store, 2, _)("k1" -> Some("next")).ids.own)
      assert(next.distinct.size == 2)
      assert(read(store, 3, next(1))("k10") == "v1O" && read(store, 3, next(0))("k10") == "v10")
      store.close()
    }
  }

  test("with ids an attempt whose file was not written is no attempt to go on from") {
    for (fault <- Seq(Fault.Before, Fault.After)) use { plain =>
      val files = new FaultyFileStore(plain.files)
      TempFolder.use { folder =>
        val store = new StoreHarness(files, folder).open(withIds = true)
        val base = batch(store, 0)("a" -> Some("1")).ids.own
        files.failNext(fault)
        assertThrows[UnavailableException](batch(store, 1, base)("a" -> Some("2")))
        val retry = batch(store, 1, base)("a" -> Some("2")).ids.own
        assert(files.exists(Attempt(2, retry).changelog))
        assert(batch(store, 1, base)("a" -> Some("2")).ids.own == retry)
        store.close()
      }
    }
  }

  test("another executor's file fails the commit and drops memory; the retry reads the file") {
    use { harness =>
      val (mine, other) = (harness.open(withIds = false), harness.open(withIds = false))
      batch(mine, 0)("a" -> Some("1"))
      batch(mine, 1)("a" -> Some("mine"))
      batch(other, 1)("a" -> Some("theirs"))
      val stale = write(mine, 2)
      assertThrows[ConflictException](stale.commit())
      stale.end()
      assert(!harness.files.exists("3.changelog"))
      val retry = write(mine, 2)
      assert(contents(retry.table, 2) == Map("a" -> "theirs"))
      retry.end()
      mine.close()
      other.close()
    }
  }

  test("a task that has read one commit does not write on top of another") {
    use { harness =>
      val (mine, other) = (harness.open(withIds = false), harness.open(withIds = false))
      batch(mine, 0)("a" -> Some("1"))
      batch(mine, 1)("a" -> Some("mine"))
      val reader = mine.openForRead(Attempt(2))
      batch(other, 1)("a" -> Some("theirs"))
      assertThrows[ConflictException](
        harness.open(withIds = false).openForWrite(Attempt(2), Some(reader))(_ => fail("it began"))
      )
      reader.end()
    }
  }

  test("a version that cannot be loaded is told in the host's words, and leaves the lock free") {
    use { harness =>
      val store = harness.open(withIds = false)
      batch(store, 0)("a" -> Some("1"))
      val calls: Seq[() => Any] =
        Seq(() => write(store, 7), () => store.openForRead(Attempt(7)), () => read(store, 9))
      calls.foreach { call =>
        assert(intercept[Refusal.CannotLoad](call()).why.isInstanceOf[MissingException])
      }
      batch(store, 1)("a" -> Some("2"))
      assert(read(store, 2) == Map("a" -> "2"))
      store.close()
    }
  }

  test("a writer that is not taken over by its caller has ended") {
    use { harness =>
      val store = harness.open(withIds = false)
      val lost = new IllegalStateException("the caller's")
      assert(
        intercept[IllegalStateException](store.openForWrite(Attempt(0))(_ => throw lost)) eq lost
      )
      batch(store, 0)("a" -> Some("1"))
      store.close()
    }
  }

  test("a write that fails leaves the version as it was, also when only its reply was lost") {
    for (fault <- Seq(Fault.Before, Fault.After)) use { plain =>
      val files = new FaultyFileStore(plain.files)
      TempFolder.use { folder =>
        // With ids, no check of the lineage runs beside the calls that are counted.
        val store = new StoreHarness(files, folder).open(withIds = true)
        val base = batch(store, 0)("a" -> Some("1")).ids.own
        val session = write(store, 1, base)
        change(session, "a" -> Some("2"))
        files.failNext(fault)
        assertThrows[UnavailableException](session.commit())
        session.abort()
        session.end()
        assert(read(store, 1, base) == Map("a" -> "1"))
        val retry = batch(store, 1, base)("a" -> Some("3"))
        assert(read(store, 2, retry.ids.own) == Map("a" -> "3"))
        store.close()
      }
    }
  }

  test("the figures of a commit tell how its version was opened, once") {
    use { harness =>
      val store = harness.open(withIds = false)
      batch(store, 0)("a" -> Some("1"))
      val session = write(store, 1)
      val hit = session.commit().values
      session.end()
      assert(hit(MetricKey.TableHits) == 1 && hit(MetricKey.ChangedKeys) == 0)
      assert(hit.get(MetricKey.TableReloads).isEmpty)
    }
  }

  test("Spark hears of the snapshot that batches go on from, once, and of none that is only read") {
    StoreHarness.use { harness =>
      val inCommit = Seq("snapshot.mode" -> "sync", "snapshot.maxVersions" -> "2")
      val first = harness.open(withIds = false, inCommit: _*)
      (0L until 4L).foreach(n => batch(first, n)(s"key $n" -> Some("value")))
      first.close()
      def told = harness.told.count(_.startsWith("snapshot "))
      val before = told
      assert(before > 0)
      val restarted = harness.open(withIds = false, "snapshot.maxVersions" -> "1000")
      assert(read(restarted, 4).size == 4)
      restarted.replay(Attempt(2), Attempt(3)).end()
      assert(told == before)
      batch(restarted, 4)("key" -> Some("value"))
      batch(restarted, 5)("key" -> Some("other"))
      assert(told == before + 1)
      assert(harness.told.filter(_.startsWith("snapshot ")).last == "snapshot 2")
    }
  }

  test("a writer that must leave a snapshot does, and the host is told of it before the commit") {
    use { harness =>
      val store = harness.open(withIds = false)
      val session = store.openForWrite(Attempt(0), forceSnapshot = true)(session => session)
      change(session, "a" -> Some("1"))
      val figures = session.commit()
      assert(harness.told == Seq("snapshot 1", "committed 1"))
      assert(figures.snapshot == 1 && figures.values(MetricKey.ForcedSnapshots) == 1)
      assert(harness.files.exists("1.manifest"))
      session.end()
      store.close()
    }
  }

  test("a state is replayed in a table of its own") {
    use { harness =>
      val store = harness.open(withIds = false)
      for (version <- 0 to 3) batch(store, version.toLong)("a" -> Some(s"${version + 1}"))
      val session = store.replay(Attempt(1), Attempt(3))
      assert(session.table.newest == 3 && contents(session.table, 3) == Map("a" -> "3"))
      session.end()
      val error = intercept[Refusal.CannotLoad](
        store.replay(Attempt(1, Some(new UUID(9, 9).toString)), Attempt(3))
      )
      assert(error.why.isInstanceOf[CorruptException])
      store.close()
    }
  }

  test("the changes of versions are those that their changelogs hold") {
    use { harness =>
      val store = harness.open(withIds = false)
      batch(store, 0)("a" -> Some("1"))
      batch(store, 1)("a" -> Some("2"))
      batch(store, 2)("a" -> None)
      val changes = store.changes(2, Attempt(3), "default").map(c => c.version -> c.op).toSeq
      assert(changes == Seq(2L -> RecordOp.Put, 3L -> RecordOp.Remove))
      assertThrows[MissingException](store.changes(2, Attempt(9), "default").size)
      store.close()
    }
  }

  test("who only reads lowers no limit of those who write") {
    use { harness =>
      val limitBefore = StoreMemory.Tracker.limit
      val writer = harness.open(withIds = false, "engine" -> "heap", "memory.maxBytes" -> "7m")
      batch(writer, 0)("a" -> Some("1"))
      assert(StoreMemory.Tracker.limit == math.min(limitBefore, 7L << 20))
      val reader = harness.open(withIds = false, "engine" -> "heap", "memory.maxBytes" -> "1m")
      assert(read(reader, 1) == Map("a" -> "1"))
      assert(StoreMemory.Tracker.limit == math.min(limitBefore, 7L << 20))
      batch(reader, 1)("a" -> Some("2"))
      assert(StoreMemory.Tracker.limit == math.min(limitBefore, 1L << 20))
      Seq(writer, reader).foreach(_.close())
    }
  }

  test("the limit that a commit tells is of all the memory that it may take, with either engine") {
    for (
      (engine, tracker) <- Seq("heap" -> StoreMemory.Tracker, "rocksdb" -> StoreMemory.HotTracker)
    )
      use { harness =>
        val store = harness.open(withIds = false, "engine" -> engine, "memory.maxBytes" -> "64m")
        val session = write(store, 0)
        change(session, "a" -> Some("1"))
        val told = session.commit().values(MetricKey.MemoryLimit)
        assert(told == (64L << 20) / tracker.stores, engine)
        session.end()
        store.close()
      }
  }

  test("whatever a listing throws, maintenance tells it until a later run succeeds") {
    use { plain =>
      val failures = Iterator[Exception](
        new IllegalStateException("a client's own"),
        new java.nio.file.DirectoryIteratorException(new java.io.IOException("a folder's"))
      )
      val files = new WatchedFileStore(
        plain.files,
        listing = _ => failures.nextOption().foreach(throw _)
      )
      TempFolder.use { folder =>
        val harness = new StoreHarness(files, folder, retained = 1)
        val store = harness.open(withIds = false)
        val told = (0 until 4).map { n =>
          val session = write(store, n.toLong)
          val figures = session.commit().values
          session.end()
          store.maintain()
          figures(MetricKey.RetentionFailures)
        }
        assert(told == Seq(0, 1, 1, 0))
        harness.close()
      }
    }
  }

  test("a change feed lets go of its file at the end, on damage, and when it is closed before") {
    TempFolder.use { folder =>
      val memory = new MemoryFileStore
      val files = new WatchedFileStore(memory)
      val harness = new StoreHarness(files, folder)
      val store = harness.open(withIds = false)
      val random = new Random(1)
      // Longer than what is read at once.
      def long = (1 to 2000).map(n => s"key-$n" -> Option(random.nextString(40)))
      (0L to 2L).foreach(batch(store, _)(long: _*))
      def feed = store.changes(1, Attempt(3), "default")
      val taken = feed
      assert(taken.hasNext && files.openFiles == 1)
      taken.close()
      assert(files.openFiles == 0 && !taken.hasNext)
      assert(feed.size == 6000 && files.openFiles == 0)
      val bytes = memory.read("2.changelog", None)
      bytes(bytes.length / 2) = (bytes(bytes.length / 2) + 1).toByte
      memory.put("2.changelog", bytes)
      val damaged = feed
      assertThrows[CorruptException](damaged.size)
      assert(files.openFiles == 0 && !damaged.hasNext)
      store.close()
    }
  }

  test("a restart holds nothing of changelogs that left no keys") {
    use { harness =>
      val store = harness.open(withIds = false)
      // What cannot be compressed.
      val keys = (1 to 1000).map(n => UUID.nameUUIDFromBytes(s"$n".getBytes).toString)
      batch(store, 0)(keys.map(_ -> Option("x")): _*)
      batch(store, 1)(keys.map(_ -> None): _*)
      store.close()
      val again = harness.open(withIds = false)
      val session = batch(again, 2)()
      assert(session.table.memoryBytes < 10000)
      batch(again, 3)("a" -> Some("1"))
      assert(read(again, 4) == Map("a" -> "1"))
      again.close()
    }
  }

  test("close is final, and told to all who come later") {
    use { harness =>
      val store = harness.open(withIds = false)
      batch(store, 0)("a" -> Some("1"))
      assert(store.close())
      assert(!store.close())
      val calls: Seq[(StoreCall, () => Any)] = Seq(
        StoreCall.Load -> (() => write(store, 1)),
        StoreCall.Load -> (() => store.openForRead(Attempt(1))),
        StoreCall.Load -> (() => store.replay(Attempt(1), Attempt(1))),
        StoreCall.Load -> (() => store.changes(1, Attempt(1), "default")),
        StoreCall.Maintenance -> (() => store.maintain())
      )
      calls.foreach { case (call, use) => assert(intercept[Refusal.Closed](use()).call == call) }
    }
  }

  test("a store that is closed for good has nothing to maintain, which is no error") {
    use { harness =>
      val store = harness.open(withIds = false)
      assert(store.closeForGood())
      store.maintain()
    }
  }
}
