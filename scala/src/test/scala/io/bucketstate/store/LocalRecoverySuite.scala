package io.bucketstate.store

import java.nio.file.attribute.BasicFileAttributes
import java.nio.file.{Files, NoSuchFileException, Path}
import java.util.concurrent.atomic.AtomicInteger

import scala.jdk.CollectionConverters._
import scala.util.{Random, Try, Using}

import org.scalatest.concurrent.Eventually
import org.scalatest.time.{Millis, Seconds, Span}

import io.bucketstate.checkpoint.io.{Attempt, NioFileStore}
import io.bucketstate.checkpoint.manifest.LocalStateFormat
import io.bucketstate.error.UnavailableException
import io.bucketstate.rocksdb.state.NativeState
import io.bucketstate.testkit.StoreHarness._
import io.bucketstate.testkit.{TidySuite, _}

/** A restart on the machine where the store was before, in a local folder that outlives it. */
class LocalRecoverySuite extends TidySuite with Eventually {

  implicit override val patienceConfig: PatienceConfig =
    PatienceConfig(timeout = Span(20, Seconds), interval = Span(20, Millis))

  private type Model = Map[String, String]

  /** A query's store on one machine, which is restarted now and then. */
  private final class Machine(folder: Path, withIds: Boolean, settings: (String, String)*) {
    val local: Path = folder.resolve("local")
    val files: MemoryFileStore = new MemoryFileStore

    /** Told of each file of the checkpoint that is to be opened. */
    @volatile var onOpen: String => Unit = _ => ()
    val harness: StoreHarness =
      new StoreHarness(new WatchedFileStore(files, opening = onOpen(_)), folder)
    var model: Model = Map.empty
    var version = 0L
    var id: Option[String] = None
    var store: OpenStore = open()

    private def open(more: (String, String)*) = harness.open(
      withIds,
      Seq("engine" -> "rocksdb", "snapshot.maxVersions" -> "2", "localDir" -> local.toString) ++
        settings ++ more: _*
    )

    /** After it was closed. */
    def reopen(more: (String, String)*): Unit = store = open(more: _*)

    def batch(changes: (String, Option[String])*): WriteSession = {
      val session = StoreHarness.batch(store, version, id)(changes: _*)
      model = changes.foldLeft(model) { case (m, (k, v)) => m.updatedWith(k)(_ => v) }
      version += 1
      id = session.ids.own
      session
    }

    /** Batches on another machine, with a snapshot behind each second one; the changelog of the first. */
    def elsewhere(batches: Int): String = {
      val here = store
      store = harness.open(
        withIds,
        "engine" -> "heap",
        "snapshot.mode" -> "sync",
        "snapshot.maxVersions" -> "2"
      )
      try
        (1 to batches).map { n =>
          val changes = (0 until 200).map(k => s"key $k" -> Option(s"elsewhere $n"))
          Attempt(version + 1, batch(changes: _*).ids.own).changelog
        }.head
      finally {
        store.close()
        store = here
      }
    }

    /** As Spark does it: a task that fails is tried again. */
    def batchOrRetry(changes: (String, Option[String])*): WriteSession =
      LazyList
        .continually(Try(batch(changes: _*)))
        .take(4)
        .collectFirst { case t if t.isSuccess => t.get }
        .getOrElse(batch(changes: _*))

    /** Batches until what lies in the local folder is as wanted. */
    def until(wanted: WriteSession => Boolean): Unit = eventually {
      assert(wanted(batchOrRetry(s"late $version" -> Some("later"))))
    }

    def isNative(session: WriteSession): Boolean =
      session.table.coldParts.exists(_.isInstanceOf[NativeState])

    def restart(close: Boolean): Unit = {
      if (close) store.close()
      store = open()
    }

    def contents: Model = read(store, version, id)

    /** The folders of the store whose names begin so. */
    def folders(prefix: String): Seq[Path] =
      all(local.resolve("bucketstate"))
        .flatMap(all)
        .filter(_.getFileName.toString.startsWith(prefix))

    /** The data files in some of them, as the file system knows them. */
    def dataIn(folders: Seq[Path]): Set[AnyRef] =
      filesIn(folders)
        .map(Files.readAttributes(_, classOf[BasicFileAttributes]).fileKey)
        .toSet

    def filesIn(folders: Seq[Path]): Seq[Path] =
      folders.flatMap(all).filter(_.toString.endsWith(".sst"))

    /** Takes away the copies that the store has of the files of its checkpoint. */
    def forgetCopies(): Unit =
      all(local.resolve("bucketstate"))
        .flatMap(all)
        .filter(Files.isRegularFile(_))
        .foreach(Files.deleteIfExists(_))

    private def all(path: Path): Seq[Path] =
      if (!Files.isDirectory(path)) Nil
      else Using.resource(Files.list(path))(_.iterator.asScala.toSeq)
  }

  private def withMachine(withIds: Boolean, settings: (String, String)*)(
      body: Machine => Unit
  ): Unit = TempFolder.use { folder =>
    val machine = new Machine(folder, withIds, settings: _*)
    try body(machine)
    finally machine.harness.close()
  }

  for {
    withIds <- Seq(false, true)
    closes <- Seq(true, false)
  }
    test(s"a restart begins with what was left, ids: $withIds, closed before: $closes") {
      withMachine(withIds, "rocksdb.options.cf.disable_auto_compactions" -> "true") { machine =>
        machine.batch((0 until 300).map(n => s"key $n" -> Option(s"value $n")): _*)
        machine.until(_ => machine.folders("local-").nonEmpty)
        // More snapshots may be published now, for which nothing is left.
        (1 to 5).foreach(n => machine.batch("key 1" -> None, "key 2" -> Some(s"new $n")))
        machine.restart(closes)
        machine.forgetCopies()
        val before = machine.folders("db-")
        val left = machine.dataIn(machine.folders("local-"))
        machine.batch("key 3" -> Some("newer"))
        machine.until(machine.isNative)
        assert(machine.dataIn(machine.folders("db-").diff(before)).exists(left))
        assert(machine.contents == machine.model)
        machine.until { _ =>
          val now = machine.dataIn(machine.folders("local-"))
          now.exists(left) && !now.subsetOf(left)
        }
        machine.store.close()
        assert(machine.folders("local-").size == 1)
      }
    }

  test("a store that is closed while its database leaves what it holds has nothing to warn of") {
    withMachine(withIds = false) { machine =>
      // RocksDB gathers there what is left; before that it writes down what it has in memory.
      def isLeaving = machine.folders("db-").exists(db => Files.exists(db.resolve("leaving.tmp")))
      var timesSeen = 0
      val warnings = Warnings.during("io.bucketstate") {
        for (turn <- 1 to 10) {
          val before = machine.folders("local-")
          val values = (0 until 2000).map(n => s"key $n" -> Option(s"$turn " * 200))
          (1 to 3).foreach(_ => machine.batch(values: _*))
          // A snapshot that is made before the database is there leaves nothing, but a later one does.
          eventually {
            machine.batchOrRetry(s"late $turn" -> Some("later"))
            eventually(timeout(Span(1, Seconds)), interval(Span(1, Millis))) {
              assert(isLeaving || machine.folders("local-") != before)
            }
          }
          if (isLeaving) timesSeen += 1
          machine.restart(close = true)
        }
      }
      assert(warnings.isEmpty)
      assert(timesSeen > 0)
      assert(machine.contents == machine.model)
    }
  }

  test("a store that is closed while its database is written keeps what was left before") {
    // There may be one file more than what was left has, and nothing ever merges them: then writes are stopped.
    def stopping(inherited: Int) = Seq(
      "compaction_style" -> "kCompactionStyleNone",
      "level0_file_num_compaction_trigger" -> "1",
      "level0_slowdown_writes_trigger" -> s"${inherited + 1}",
      "level0_stop_writes_trigger" -> s"${inherited + 1}",
      "write_buffer_size" -> "65536"
    ).map { case (key, value) => s"rocksdb.options.cf.$key" -> value }
    withMachine(withIds = false) { machine =>
      machine.batch("a" -> Some("1"))
      machine.until(s => machine.isNative(s) && machine.folders("local-").nonEmpty)
      machine.store.close()
      val left = machine.folders("local-")
      assert(left.size == 1)
      val inherited = machine.filesIn(left).size
      // Without snapshots nothing else is left.
      machine.reopen(stopping(inherited) :+ "snapshot.maxVersions" -> "1000": _*)
      (1 to 6).foreach { turn =>
        val values = (0 until 400).map(n => s"key $turn $n" -> Option(s"$n " * 200))
        machine.batch(values: _*)
      }
      eventually(assert(machine.filesIn(machine.folders("db-")).size > inherited))
      machine.store.close()
      assert(machine.folders("local-") == left)
      machine.reopen()
      assert(machine.contents == machine.model)
    }
  }

  test(
    "a database that cannot leave what it holds goes on, no batch fails, and a later one is left"
  ) {
    withMachine(withIds = false) { machine =>
      machine.batch("a" -> Some("1"))
      machine.until(machine.isNative)
      val database = machine.folders("db-").head
      // RocksDB gathers there what is left.
      val inTheWay = eventually(Files.createFile(database.resolve("leaving.tmp")))
      var failures = Seq.empty[Throwable]
      eventually {
        val warnings = Warnings.during("io.bucketstate") {
          (1 to 5).foreach { n =>
            failures ++= Try(
              machine.batch(s"key ${machine.version}" -> Some(s"$n"))
            ).failed.toOption
          }
        }
        assert(failures.nonEmpty || warnings.exists(_.contains("is not left on this machine")))
      }
      (1 to 5).foreach(n => machine.batch("a" -> Some(s"then $n")))
      assert(failures.isEmpty && machine.folders("db-") == Seq(database))
      assert(machine.contents == machine.model)
      val before = machine.folders("local-")
      Files.delete(inTheWay)
      machine.until(_ => machine.folders("local-").exists(!before.contains(_)))
      assert(machine.folders("db-") == Seq(database) && machine.contents == machine.model)
    }
  }

  test("nothing is left in a folder that goes with the store") {
    TempFolder.use { folder =>
      val harness = new StoreHarness(new NioFileStore(folder.resolve("store")), folder)
      val settings = Seq("engine" -> "rocksdb", "snapshot.maxVersions" -> "1")
      val store = harness.open(withIds = false, settings: _*)
      var version = 0L
      eventually {
        val session = batch(store, version)(s"key $version" -> Some("v"))
        version += 1
        assert(session.table.coldParts.exists(_.isInstanceOf[NativeState]))
        assert(harness.told.count(_.startsWith("snapshot")) > 2)
      }
      val found = LiveFolder.names(folder)
      assert(found.exists(_.startsWith("db-")) && !found.exists(_.startsWith("local-")))
      harness.close()
    }
  }

  test("a database whose files are damaged is replaced, at the cost of a failed task") {
    ShortMemory.during {
      // What is in memory is not read, and a file that is merged with others would be gone before it is damaged.
      val settings = Seq(
        "memory.maxBytes" -> "4m",
        "rocksdb.memoryShare" -> "1",
        "rocksdb.options.cf.disable_auto_compactions" -> "true"
      )
      withMachine(withIds = false, settings: _*) { machine =>
        val random = new Random(1L)
        val keys = (0 until 4000).map(n => s"key $n")
        def values = keys.map(_ -> Option(random.alphanumeric.take(400).mkString))
        machine.batch(values: _*)
        machine.until(s => machine.isNative(s) && machine.folders("local-").nonEmpty)
        val left = machine.folders("local-").toSet
        machine.filesIn(machine.folders("db-")).foreach(Damage.middleOf)
        var failures = Seq.empty[Throwable]
        eventually {
          val tried = Try(machine.batch(values: _*))
          failures ++= tried.failed.toOption
          assert(failures.nonEmpty && tried.isSuccess)
        }
        // A file that was being made while it was damaged is found by the write that made it.
        assert(failures.size == 1)
        assert(
          Seq("could not be read", "could not be written")
            .exists(failures.head.getMessage.contains(_))
        )
        assert(!machine.folders("local-").exists(left))
        machine.until(machine.isNative)
        assert(machine.contents == machine.model)
      }
    }
  }

  for {
    changelog <- Seq("goes", "is damaged", "cannot be read")
    closes <- Seq(true, false)
    withIds <- Seq(false, true)
  }
    test(
      s"where a changelog $changelog that only a database of before the newest snapshot needs, no batch fails, " +
        s"closed before: $closes, ids: $withIds"
    ) {
      withMachine(withIds) { machine =>
        machine.batch((0 until 300).map(n => s"key $n" -> Option(s"value $n")): _*)
        machine.until(s => machine.isNative(s) && machine.folders("local-").nonEmpty)
        if (closes) machine.store.close()
        val needed = machine.elsewhere(batches = 5)
        val opened = new AtomicInteger
        machine.onOpen = name =>
          if (name == needed) {
            opened.incrementAndGet()
            if (changelog == "goes") machine.files.delete(name)
            if (changelog == "cannot be read")
              throw new UnavailableException(name, "the storage gave up", "Try again.")
          }
        if (changelog == "is damaged")
          machine.files.put(needed, Damage.inMiddle(machine.files.read(needed, None)))
        if (closes) machine.restart(close = false)
        var failures = Seq.empty[Throwable]
        eventually {
          val tried = Try(machine.batch(s"late ${machine.version}" -> Some("later")))
          failures ++= tried.failed.toOption
          assert(opened.get > 0 && tried.toOption.exists(machine.isNative))
        }
        assert(failures.isEmpty)
        assert(opened.get == 1, "what led there is given up with the first failure")
        assert(machine.contents == machine.model)
      }
    }

  test("what was left of a version that was undone and written anew is not used") {
    withMachine(withIds = false) { machine =>
      machine.batch("a" -> Some("1"))
      machine.until(_ => machine.folders("local-").nonEmpty)
      val (end, model) = (machine.version, machine.model)
      machine.restart(close = true)
      machine.version = 1L
      machine.model = Map("a" -> "1")
      (1L to end).foreach(n => machine.batch("a" -> Some(s"other $n"), s"other $n" -> Some("x")))
      machine.restart(close = true)
      machine.until(machine.isNative)
      assert(machine.contents == machine.model)
      assert(machine.contents.keySet.exists(!model.keySet(_)))
    }
  }

  test("what was left is not used where a changelog below it was replaced before a snapshot") {
    withMachine(withIds = false, "rocksdb.options.cf.disable_auto_compactions" -> "true") {
      machine =>
        machine.until(_ => machine.folders("local-").nonEmpty)
        machine.store.close()
        val left = machine.folders("local-").head.resolve("bucketstate.state")
        val version = LocalStateFormat.decode(Files.readAllBytes(left), s"$left").version
        // As if the attempt had not known of the snapshot, and nobody after it.
        machine.files
          .list("")
          .map(_.name)
          .filter(_.endsWith(".manifest"))
          .foreach(machine.files.delete)
        val replaced = s"late ${version - 2}" -> "late indeed"
        val late = machine.harness.open(withIds = false, "engine" -> "heap")
        batch(late, version - 2)(replaced._1 -> Some(replaced._2))
        late.close()
        machine.model += replaced
        machine.elsewhere(batches = 5)
        val data = machine.dataIn(machine.folders("local-"))
        val before = machine.folders("db-")
        machine.reopen("snapshot.maxVersions" -> "1000") // nothing takes its place
        machine.until(machine.isNative)
        assert(!machine.dataIn(machine.folders("db-").diff(before)).exists(data))
        assert(machine.contents == machine.model)
    }
  }

  for {
    seed <- 1 to 6
    withIds <- Seq(false, true)
  }
    test(s"restarts, kills and damage at random give right answers, ids: $withIds, $seed") {
      val random = new Random(seed.toLong)
      ShortMemory.when(seed % 2 == 0) {
        withMachine(withIds, "snapshot.maxVersions" -> (1 + random.nextInt(3)).toString) {
          machine =>
            (1 to 8).foreach { _ =>
              (1 to 1 + random.nextInt(8)).foreach { _ =>
                val changes = Seq
                  .fill(random.nextInt(60))(s"key ${random.nextInt(90)}")
                  .distinct
                  .map(key =>
                    key -> Option.when(random.nextInt(3) > 0)(s"v${random.nextInt(1000)}")
                  )
                val session = machine.batchOrRetry(changes: _*)
                assert(session.table.families.head.keyCount == Some(machine.model.size))
              }
              assert(machine.contents == machine.model)
              if (random.nextBoolean()) machine.until(_ => machine.folders("local-").nonEmpty)
              machine.restart(close = random.nextBoolean())
              if (random.nextBoolean()) machine.forgetCopies()
              if (random.nextInt(3) == 0)
                machine.folders("local-").foreach { left =>
                  // A store that was not closed may empty and replace it meanwhile.
                  try {
                    val files = Using.resource(Files.list(left))(_.iterator.asScala.toSeq).sorted
                    if (files.nonEmpty) {
                      val file = files(random.nextInt(files.size))
                      if (Files.size(file) > 0) Damage.middleOf(file)
                    }
                  } catch { case _: NoSuchFileException => () }
                }
            }
            machine.batchOrRetry("last" -> Some("1"))
            assert(machine.contents == machine.model)
        }
      }
    }
}
