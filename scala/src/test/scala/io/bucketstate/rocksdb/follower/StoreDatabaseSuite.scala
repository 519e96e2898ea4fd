package io.bucketstate.rocksdb.follower

import java.nio.file.attribute.PosixFilePermissions
import java.nio.file.{Files, Path}

import scala.util.{Random, Try}

import org.scalatest.concurrent.Eventually
import org.scalatest.time.{Millis, Seconds, Span}

import io.bucketstate.checkpoint.io.NioFileStore
import io.bucketstate.config.MetricKey
import io.bucketstate.error.InvalidException
import io.bucketstate.rocksdb.ThrowingFactory
import io.bucketstate.rocksdb.state.{ExecutorNative, NativeState}
import io.bucketstate.store.OpenStore
import io.bucketstate.testkit.StoreHarness._
import io.bucketstate.testkit.{TidySuite, _}

/** The local database behind a store: what it takes over, what is read from it, and what becomes of it. */
class StoreDatabaseSuite extends TidySuite with Eventually {

  implicit override val patienceConfig: PatienceConfig =
    PatienceConfig(timeout = Span(20, Seconds), interval = Span(20, Millis))

  private val rocksDb = Seq("engine" -> "rocksdb", "snapshot.maxVersions" -> "3")

  private def withHarness(body: (StoreHarness, Path) => Unit): Unit =
    TempFolder.use { folder =>
      val harness = new StoreHarness(new NioFileStore(folder.resolve("store")), folder)
      try body(harness, folder)
      finally harness.close()
    }

  /** Batches until the table reads from the database; the version that it came to. */
  private def untilNative(store: OpenStore, from: Long): Long = {
    var version = from
    eventually {
      val session = batch(store, version)(s"late $version" -> Some("later"))
      version += 1
      assert(session.table.coldParts.exists(_.isInstanceOf[NativeState]))
      assert(session.table.families.head.notWhole > 0)
    }
    version
  }

  /** Batches until the database has taken over one. */
  private def untilWritten(store: OpenStore, from: Long): Long = {
    var version = from
    eventually {
      val session = write(store, version)
      change(session, s"late $version" -> Some("later"))
      val figures = session.commit()
      session.end()
      version += 1
      assert(figures.values(MetricKey.DbUnflushedBytes) > 0 && figures.values(MetricKey.DbLag) < 3)
    }
    version
  }

  private def laterThan(version: Long, until: Long): Map[String, String] =
    (version until until).map(v => s"late $v" -> "later").toMap

  test("what was committed is written down, leaves memory, and is read from the database") {
    val others = ExecutorNative.stores
    ShortMemory.during {
      withHarness { (harness, _) =>
        val store = harness.open(withIds = false, rocksDb: _*)
        var wanted = (0 until 500).map(n => s"key $n" -> s"value $n").toMap
        batch(store, 0)(wanted.view.mapValues(Option(_)).toSeq: _*)
        var version = untilNative(store, 1)
        wanted ++= laterThan(1, version)
        var keys = 0L
        eventually {
          val session = write(store, version)
          val before = session.table.families.head.lookUps
          val changes = Seq(s"key $version" -> None, s"key ${version + 200}" -> Some("new"))
          change(session, changes: _*)
          val figures = session.commit()
          session.end()
          version += 1
          wanted = changes.foldLeft(wanted) { case (m, (k, v)) => m.updatedWith(k)(_ => v) }
          keys = figures.keys
          assert(session.table.families.head.lookUps > before)
          assert(figures.values(MetricKey.DbLag) <= 3)
        }
        assert(read(store, version) == wanted)
        assert(keys == wanted.size)
        assert(ExecutorNative.stores == others + 1)
        assert(store.close())
      }
    }
    assert(ExecutorNative.stores == others)
  }

  test("a store that is only read has no database") {
    val others = ExecutorNative.stores
    withHarness { (harness, folder) =>
      val writer = harness.open(withIds = false, "engine" -> "heap")
      batch(writer, 0)("a" -> Some("1"))
      writer.close()
      val reader = harness.open(withIds = false, rocksDb: _*)
      assert(read(reader, 1) == Map("a" -> "1"))
      assert(ExecutorNative.stores == others)
      reader.close()
      assert(Files.list(folder).noneMatch(_.getFileName.toString.startsWith("work")))
    }
  }

  test(
    "in a folder that outlives stores nothing stays, and what a process left that died is deleted"
  ) {
    withHarness { (harness, folder) =>
      val local = folder.resolve("local")
      def databases = LiveFolder.names(local).count(_.startsWith("db-"))
      val settings = rocksDb :+ ("localDir" -> local.toString)
      val store = harness.open(withIds = false, settings: _*)
      batch(store, 0)("a" -> Some("1"))
      val version = untilWritten(store, 1)
      assert(databases == 1)
      val own = Files.list(local.resolve("bucketstate")).findFirst().get
      val dead = Files.createDirectories(own.resolve("db-dead"))
      Files.createFile(dead.resolve("bucketstate.owner"))
      val other = harness.open(withIds = false, settings: _*)
      batch(other, version)("b" -> Some("2"))
      untilWritten(other, version + 1)
      assert(!Files.exists(dead))
      assert(databases == 2)
      store.close()
      other.close()
      assert(databases == 0)
    }
  }

  test("what a process left that died is deleted where folders go with their stores, too") {
    withHarness { (harness, folder) =>
      def owner(of: String) = {
        val path = Files.createDirectories(folder.resolve(of))
        Files.createFile(path.resolve("bucketstate.owner"))
      }
      val dead = owner("work-dead/db-1-1-x")
      val other = Files.createDirectories(folder.resolve("work-other"))
      val store = harness.open(withIds = false, rocksDb: _*)
      batch(store, 0)("a" -> Some("1"))
      untilWritten(store, 1)
      assert(!Files.exists(dead.getParent.getParent) && Files.exists(other))
    }
  }

  test("a local folder that outlives the store is nobody else's") {
    withHarness { (harness, folder) =>
      val local = folder.resolve("local")
      val store = harness.open(withIds = false, rocksDb :+ ("localDir" -> local.toString): _*)
      batch(store, 0)("a" -> Some("1"))
      untilWritten(store, 1)
      val own = Files.list(local.resolve("bucketstate")).findFirst().get
      assert(PosixFilePermissions.toString(Files.getPosixFilePermissions(own)) == "rwx------")
    }
  }

  test("a checkpoint that is deleted when its query has ended is no reason for a warning") {
    TempFolder.use { folder =>
      val place = folder.resolve("store")
      @volatile var hasEnded = false
      val files = new WatchedFileStore(
        new NioFileStore(place),
        opening = _ => if (hasEnded && Files.exists(place)) TempFolder.delete(place)
      )
      val harness = new StoreHarness(files, folder)
      val before = harness.open(withIds = false, "engine" -> "heap")
      (0L to 3L).foreach(v => batch(before, v)("a" -> Some(s"$v")))
      before.close()
      val store =
        harness.open(withIds = false, rocksDb :+ ("snapshot.maxVersions" -> "1000"): _*)
      val warnings = Warnings.during("io.bucketstate") {
        val session = write(store, 4)
        change(session, "a" -> Some("4"))
        hasEnded = true
        session.commit()
        session.end()
        eventually(assert(!Files.exists(place)))
        eventually(assert(LiveFolder.names(folder).forall(!_.startsWith("db-"))))
        store.close()
      }
      assert(warnings.isEmpty)
    }
  }

  test(
    "a folder that cannot be written is told with a remedy, and a retry goes on from the checkpoint"
  ) {
    withHarness { (harness, folder) =>
      val file = Files.createFile(folder.resolve("file"))
      val store = harness.open(withIds = false, rocksDb :+ ("localDir" -> file.toString): _*)
      batch(store, 0)("a" -> Some("1"))
      var version = 1L
      val failure = eventually {
        val tried = Try(batch(store, version)(s"late $version" -> Some("later")))
        if (tried.isSuccess) version += 1
        assert(tried.isFailure)
        tried.failed.get
      }
      assert(failure.isInstanceOf[Refusal.CannotLoad])
      assert(failure.getMessage.contains(file.toString))
      assert(failure.getMessage.contains("localDir"))
      batch(store, version)("b" -> Some("2"))
      assert(read(store, version + 1) == Map("a" -> "1", "b" -> "2") ++ laterThan(1, version))
    }
  }

  test("an option that RocksDB refuses and a factory that throws are told to the first batch") {
    val wrong = Seq(
      "rocksdb.options.cf.write_bufer_size" -> "64M" -> "write_buffer_size",
      "rocksdb.options.db.max_background_jobs" -> "many" -> "max_background_jobs",
      "rocksdb.optionsFactory" -> "no.such.Factory" -> "no.such.Factory",
      "rocksdb.optionsFactory" -> classOf[ThrowingFactory].getName -> "no disk"
    )
    val others = ExecutorNative.stores
    wrong.foreach { case (setting, named) =>
      withHarness { (harness, folder) =>
        val store = harness.open(withIds = false, rocksDb :+ setting: _*)
        // Each attempt of the task, and each task of the executor.
        (1 to 2).foreach { _ =>
          val failure = intercept[Refusal.CannotLoad](batch(store, 0)("a" -> Some("1")))
          assert(failure.why.isInstanceOf[InvalidException])
          assert(failure.getMessage.contains(named) && failure.getMessage.contains(setting._1))
        }
        assert(harness.files.list().isEmpty && harness.told.isEmpty)
        assert(Files.list(folder).noneMatch(_.getFileName.toString.startsWith("work")))
        assert(ExecutorNative.stores == others)
        store.close()
        val right = harness.open(withIds = false, rocksDb: _*)
        batch(right, 0)("a" -> Some("1"))
        right.close()
        val reader = harness.open(withIds = false, rocksDb :+ setting: _*)
        assert(read(reader, 1) == Map("a" -> "1"))
      }
    }
  }

  for {
    withIds <- Seq(false, true)
    isShort <- Seq(false, true)
    seed <- 1 to 4
  }
    test(
      s"a store moves between engines at restarts, ids: $withIds, short of memory: $isShort, $seed"
    ) {
      ShortMemory.when(isShort) {
        withHarness { (harness, _) =>
          val random = new Random(seed.toLong)
          var model = Map.empty[String, String]
          var past = Map(0L -> model)
          var version = 0L
          var id = Option.empty[String]
          for (engine <- Seq("heap", "rocksdb", "heap", "rocksdb", "rocksdb", "heap")) {
            val settings = rocksDb.tail :+ ("engine" -> engine)
            val store = harness.open(withIds, settings: _*)
            (1 to 2 + random.nextInt(6)).foreach { _ =>
              val changes = Seq
                .fill(random.nextInt(40)) {
                  val key = s"key ${random.nextInt(60)}"
                  key -> Option.when(random.nextInt(3) > 0)(s"v${random.nextInt(1000)}")
                }
                .toMap
              val session = batch(store, version, id)(changes.toSeq: _*)
              model = changes.foldLeft(model) { case (m, (k, v)) => m.updatedWith(k)(_ => v) }
              version += 1
              id = session.ids.own
              past += version -> model
              assert(session.table.families.head.keyCount == Some(model.size))
              assert(read(store, version, id) == model)
            }
            store.close()
          }
          val again = harness.open(withIds)
          assert(read(again, version, id) == model)
          if (!withIds) past.foreachEntry((v, was) => assert(read(again, v) == was))
          again.close()
        }
      }
    }
}
