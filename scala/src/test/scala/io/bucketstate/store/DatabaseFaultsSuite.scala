package io.bucketstate.store

import java.nio.file.{Files, Path}
import java.util.concurrent.CountDownLatch

import scala.jdk.CollectionConverters._
import scala.util.{Failure, Random, Success, Try, Using}

import org.scalatest.concurrent.Eventually
import org.scalatest.time.{Millis, Seconds, Span}

import io.bucketstate.checkpoint.io.{Attempt, NioFileStore}
import io.bucketstate.config.{ConfigKey, MetricKey}
import io.bucketstate.error.{CorruptException, InvalidException, UnavailableException}
import io.bucketstate.rocksdb.state.{ExecutorNative, NativeState}
import io.bucketstate.testkit.StoreHarness._
import io.bucketstate.testkit.{TidySuite, _}

/**
 * What can happen to a local database, for real: a task is told of it once, in words that help, the retry goes on from the
 * checkpoint, and nothing is left behind.
 */
class DatabaseFaultsSuite extends TidySuite with Eventually {

  implicit override val patienceConfig: PatienceConfig =
    PatienceConfig(timeout = Span(30, Seconds), interval = Span(10, Millis))

  /** Tasks one after another on one store, and what they should have come to. */
  private final class Tasks(val store: OpenStore) {
    private val random = new Random(3)
    var version = 0L
    var model: Map[String, String] = Map.empty[String, String]

    /** On a store that goes on where that of others ended. */
    def this(store: OpenStore, after: Tasks) = {
      this(store)
      version = after.version
      model = after.model
    }

    /** Whether the last batch read from a database what was not in memory. */
    var isNative = false

    /** Bytes that databases have written to files out of memory. */
    var flushed = 0L

    /** Whether the last batch left all in memory: nothing is read of the database then. */
    var isResident = true

    /**
     * Writes some 100 KB that cannot be compressed.
     *
     * @param opened called once the version is there
     */
    def next(opened: => Unit = ()): Unit = {
      val puts = Seq.fill(100)(
        s"key ${random.nextInt(2000)}" -> random.alphanumeric.take(1000).mkString
      )
      val session = write(store, version)
      try {
        opened
        change(session, puts.map { case (key, value) => key -> Some(value) }: _*)
        flushed += session.commit().values.getOrElse(MetricKey.DbFlushBytes, 0L)
        version += 1
        model ++= puts
        isNative = session.table.coldParts.exists(_.isInstanceOf[NativeState])
        isResident = session.table.isResident
      } catch {
        case failure: Throwable =>
          session.abort()
          throw failure
      } finally session.end()
    }

    def untilNative(): Unit = {
      isNative = false
      eventually {
        next()
        assert(isNative)
      }
    }

    /** What the first task fails with. */
    def failure(): Throwable = eventually {
      Try(next()) match {
        case Failure(failure) => failure
        case Success(_)       => fail("no failure yet")
      }
    }

    def requireRight(): Unit = {
      val _ = assert(read(store, version) == model)
    }
  }

  private def withTasks(settings: (String, String)*)(body: (Tasks, Path) => Unit): Unit = {
    val others = ExecutorNative.stores
    TempFolder.use { folder =>
      val harness = new StoreHarness(new NioFileStore(folder.resolve("store")), folder)
      val all = Seq("engine" -> "rocksdb", "rocksdb.options.cf.write_buffer_size" -> "64K")
      try {
        val tasks = new Tasks(harness.open(withIds = false, all ++ settings: _*))
        body(tasks, folder)
        tasks.requireRight()
        assert(tasks.store.close())
      } finally harness.close()
      assert(workFolders(folder).isEmpty)
      assert(LeftOvers.openFiles(folder).isEmpty)
    }
    assert(ExecutorNative.stores == others)
  }

  /** A store that has run some batches on the heap, and goes on with a database that it waits a second for. */
  private def withDatabase(harness: StoreHarness, batches: Int): Tasks = {
    val before = new Tasks(harness.open(withIds = false, "engine" -> "heap"))
    (1 to batches).foreach(_ => before.next())
    before.store.close()
    new Tasks(
      harness.open(
        withIds = false,
        "engine" -> "rocksdb",
        "memory.maxBytes" -> "4m",
        "lockAcquireTimeout" -> "1000",
        "rocksdb.options.cf.write_buffer_size" -> "64K"
      ),
      before
    )
  }

  private def workFolders(in: Path): Seq[Path] =
    Using.resource(Files.list(in))(
      _.iterator.asScala.filter(_.getFileName.toString.startsWith("work")).toSeq
    )

  private def dataFiles(in: Path): Seq[Path] =
    workFolders(in).flatMap(LiveFolder.paths).filter(_.getFileName.toString.endsWith(".sst"))

  private def whyOf(failure: Throwable): Throwable = failure match {
    case Refusal.CannotLoad(why) => why
    case other                   => other
  }

  test("a disk that is full is told with the folder and the setting, and the retry goes on") {
    assume(FileSizeLimit.isAvailable)
    withTasks("rocksdb.options.cf.write_buffer_size" -> "1M") { (tasks, folder) =>
      tasks.untilNative()
      // More than what a batch writes, and less than what RocksDB does when its memory is full.
      FileSizeLimit.during(400L << 10) {
        val why = whyOf(tasks.failure())
        val file = why match {
          case e: UnavailableException => Path.of(e.file)
          case other                   => fail(other)
        }
        assert(why.getMessage.contains("File too large"), why)
        assert(file.startsWith(folder))
        assert(why.getMessage.contains(ConfigKey.LocalDir.key))
        tasks.next()
        assert(!Files.exists(file), "what fills the disk is gone before the next is made")
        tasks.requireRight()
      }
      // What was begun meanwhile may have failed, too.
      Try(tasks.next())
      tasks.untilNative()
    }
  }

  test("where no file at all can be written the first batch is told, and the next one goes on") {
    assume(FileSizeLimit.isAvailable)
    // These were never found to be right in this process.
    withTasks("rocksdb.options.cf.block_size" -> "7777") { (tasks, _) =>
      FileSizeLimit.during(0L) {
        val why = whyOf(intercept[Refusal.CannotLoad](tasks.next()))
        assert(why.isInstanceOf[UnavailableException])
        assert(why.getMessage.contains("java.io.tmpdir"))
      }
      tasks.untilNative()
    }
  }

  test("a database that is not there yet is behind by what it will read, and not by all versions") {
    StoreHarness.use { harness =>
      val inCommit = Seq("snapshot.mode" -> "sync", "snapshot.maxVersions" -> "1")
      val first = harness.open(withIds = false, inCommit :+ "engine" -> "heap": _*)
      (0L until 20L).foreach(n => batch(first, n)(s"key $n" -> Some("value")))
      first.close()
      val restarted = harness.open(withIds = false, inCommit :+ "engine" -> "rocksdb": _*)
      val session = write(restarted, 20)
      try {
        change(session, "key" -> Some("other"))
        assert(session.commit().values(MetricKey.DbLag) <= 2)
      } finally session.end()
    }
  }

  for (levels <- Seq(4, 9))
    test(s"a database of $levels levels tells its figures") {
      withTasks("rocksdb.options.cf.num_levels" -> levels.toString) { (tasks, _) =>
        tasks.untilNative()
        (1 to 10).foreach(_ => tasks.next())
        tasks.untilNative()
        tasks.requireRight()
      }
    }

  test("writes that RocksDB has stopped are waited for, then told; neither retry nor close hang") {
    withTasks(
      // Nothing ever merges the files of which there may be two.
      "rocksdb.options.cf.compaction_style" -> "kCompactionStyleNone",
      "rocksdb.options.cf.level0_file_num_compaction_trigger" -> "1",
      "rocksdb.options.cf.level0_slowdown_writes_trigger" -> "2",
      "rocksdb.options.cf.level0_stop_writes_trigger" -> "2",
      "memory.maxBytes" -> "4m",
      "lockAcquireTimeout" -> "200"
    ) { (tasks, _) =>
      (1 to 2).foreach { _ =>
        val why = whyOf(tasks.failure())
        assert(why.isInstanceOf[UnavailableException])
        assert(why.getMessage.contains("has not caught up in 200 ms"), why)
        assert(why.getMessage.contains(ConfigKey.LocalDir.key))
        tasks.next()
        tasks.requireRight()
      }
    }
  }

  test("a database that is only slow costs one task, and goes on as the one that it was") {
    val mayRead = new CountDownLatch(1)
    @volatile var isSlow = false
    TempFolder.use { folder =>
      val files = new WatchedFileStore(
        new NioFileStore(folder.resolve("store")),
        opening = name => if (isSlow && name.endsWith(".changelog")) mayRead.await()
      )
      val harness = new StoreHarness(files, folder)
      try {
        val tasks = withDatabase(harness, batches = 5)
        // What the table was restored over it has read by then, and the database has not been begun.
        tasks.next(opened = isSlow = true)
        val why = whyOf(tasks.failure())
        assert(why.getMessage.contains("has not caught up in 1000 ms"), why)
        mayRead.countDown()
        var failures = Seq.empty[Throwable]
        def next(): Unit = failures ++= Try(tasks.next()).failed.toOption
        eventually {
          next()
          assert(tasks.isNative)
        }
        val flushed = tasks.flushed
        eventually {
          next()
          assert(tasks.flushed > flushed + (1L << 20))
        }
        assert(failures.isEmpty)
        assert(LiveFolder.names(folder).count(_.startsWith("db-")) == 1)
        tasks.requireRight()
      } finally {
        mayRead.countDown()
        harness.close()
      }
    }
  }

  test("batches wait where the changes of all stores are too many, however few are of each") {
    val mayRead = new CountDownLatch(1)
    @volatile var slow = Set.empty[Int]
    TempFolder.use { folder =>
      val harnesses = (0 until 8).map { n =>
        val files = new WatchedFileStore(
          new NioFileStore(folder.resolve(s"store $n")),
          opening = name => if (slow(n) && name.endsWith(".changelog")) mayRead.await()
        )
        new StoreHarness(files, folder)
      }
      try {
        // Each has nothing that waits when its version is opened, and so waits for nobody.
        val all = harnesses.zipWithIndex.map { case (harness, n) =>
          val tasks = withDatabase(harness, batches = 1)
          tasks.next(opened = slow += n)
          tasks
        }
        val tried = LazyList.from(0).map(n => Try(all(n % all.size).next()))
        val (made, rest) = tried.span(_.isSuccess)
        val why = whyOf(rest.head.failed.get)
        assert(why.getMessage.contains("has not caught up in 1000 ms"), why)
        assert(why.getMessage.contains("in all stores of this executor"), why)
        assert(made.size <= all.size, "of which each has a small part of what may wait by then")
        assert(StoreMemory.Unwritten.total < (3L << 20))
        mayRead.countDown()
        all.foreach(_.untilNative())
        all.foreach(_.requireRight())
      } finally {
        mayRead.countDown()
        harnesses.foreach(_.close())
      }
    }
  }

  test("options that RocksDB refuses only together are told with the setting") {
    withTasks(
      "rocksdb.options.db.allow_mmap_reads" -> "true",
      "rocksdb.options.db.use_direct_reads" -> "true"
    ) { (tasks, _) =>
      val why = whyOf(tasks.failure())
      assert(why.isInstanceOf[InvalidException])
      assert(why.getMessage.contains(ConfigKey.RocksDbOptions.key), why)
      assert(why.getMessage.contains("memory mapped"))
    }
  }

  test("a folder that is deleted under a store costs one task") {
    withTasks() { (tasks, folder) =>
      tasks.untilNative()
      workFolders(folder).foreach(TempFolder.delete)
      val why = whyOf(tasks.failure())
      assert(why.isInstanceOf[UnavailableException])
      assert(why.getMessage.contains(folder.resolve("work").toString), why)
      assert(why.getMessage.contains(ConfigKey.LocalDir.key))
      tasks.next()
      tasks.untilNative()
    }
  }

  test("a database whose files cannot be read any more costs one task, and another one is made") {
    ShortMemory.during {
      // So that the files are those that are read.
      withTasks("rocksdb.options.cf.disable_auto_compactions" -> "true") { (tasks, folder) =>
        tasks.untilNative()
        eventually {
          tasks.next()
          assert(dataFiles(folder).size > 1 && !tasks.isResident)
        }
        val session = tasks.store.openForRead(Attempt(tasks.version))
        dataFiles(folder).foreach(file => Files.write(file, Array.emptyByteArray))
        val why = whyOf(intercept[Throwable](contents(session.table, tasks.version)))
        session.end()
        assert(why.isInstanceOf[CorruptException])
        assert(why.getMessage.contains(folder.resolve("work").toString), why)
        tasks.requireRight()
        tasks.untilNative()
      }
    }
  }
}
