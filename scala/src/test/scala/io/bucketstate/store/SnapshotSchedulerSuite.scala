package io.bucketstate.store

import java.util.concurrent.{CountDownLatch, Executor, RejectedExecutionException, TimeUnit}

import scala.collection.mutable.ArrayBuffer
import scala.util.Using

import io.bucketstate.background.{Background, NeediestFirst, PacePlan, Patience, Pause, Ticker}
import io.bucketstate.checkpoint.records.BucketSource
import io.bucketstate.checkpoint.snapshot.{SnapshotPlan, SnapshotTarget}
import io.bucketstate.config.{Engine, MetricKey}
import io.bucketstate.error.MissingException
import io.bucketstate.record.RecordSink
import io.bucketstate.testkit.{
  MemoryFileStore,
  SnapshotRoom,
  StoreHarness,
  TempFolder,
  TidySuite,
  Warnings,
  WatchedFileStore
}

/** When snapshots are begun, and what becomes of those that cannot be. */
class SnapshotSchedulerSuite extends TidySuite {

  private final class Setting(val room: SnapshotRoom) extends Executor {
    var refusal: Option[Throwable] = None
    val waiting: ArrayBuffer[Runnable] = ArrayBuffer.empty[Runnable]
    var captured: ArrayBuffer[Long] = ArrayBuffer.empty[Long]
    var released = 0
    var published: ArrayBuffer[Long] = ArrayBuffer.empty[Long]
    var publishedBytes = 0L
    var isGone = false

    private val background =
      new Background(
        new NeediestFirst(this),
        new NeediestFirst(this),
        () => true,
        PacePlan(),
        Ticker.System,
        Pause.System
      )
    val scheduler: SnapshotScheduler = new SnapshotScheduler(
      room.snapshotter,
      SnapshotPlan(3, Long.MaxValue),
      "here",
      manifest => {
        published += manifest.version
        publishedBytes = manifest.bytes
      },
      () => isGone,
      Patience(60000L, Ticker.System, () => ()),
      background
    )

    override def execute(task: Runnable): Unit = {
      refusal.foreach(throw _)
      waiting += task
    }

    /** A batch: opens the newest version, and commits the next one. */
    def batch(): Unit = {
      if (room.newest > 0 && scheduler.opened(room.newest)) scheduler.submit(due())
      room.commit(s"key-${room.newest % 5}" -> Some(s"${room.newest}"))
      scheduler.checkpointed(room.newest, 100)
    }

    def due(): DueSnapshot = new DueSnapshot(() => {
      captured += room.newest
      room.target(room.newest, fromMemory = true).copy(release = () => released += 1)
    })

    def failures: Long = scheduler.drainFigures(room.newest)(MetricKey.SnapshotFailures)

    def work(): Unit = {
      val all = waiting.toSeq
      waiting.clear()
      all.foreach(_.run())
    }
  }

  /** A target that tells how often its memory was read, how often it was let go, and whether it was read after that. */
  private final class Watched(plain: SnapshotTarget) {
    var reads = 0
    var releases = 0
    var isReadLate = false

    val target: SnapshotTarget =
      plain.copy(memory = plain.memory.map(watching), release = () => releases += 1)

    private def watching(memory: BucketSource): BucketSource = new BucketSource {
      override def families: Iterable[Int] = memory.families
      override def read(family: Int, bucket: Int, sink: RecordSink): Unit = {
        reads += 1
        isReadLate |= releases > 0
        memory.read(family, bucket, sink)
      }
    }
  }

  private def withSetting(body: Setting => Any): Unit = TempFolder.use { folder =>
    Using.resource(new SnapshotRoom(new MemoryFileStore, folder)) { room =>
      body(new Setting(room))
      ()
    }
  }

  for (
    refusal <- Seq(new RejectedExecutionException("shut down"), new OutOfMemoryError("no thread"))
  )
    test(s"a snapshot that no thread can be had for has failed, and is tried again: $refusal") {
      withSetting { s =>
        s.refusal = Some(refusal)
        (1 to 6).foreach(_ => s.batch())
        // Due at the versions 3, 4 and 5.
        assert(s.failures == 3)
        assert(s.captured.isEmpty)
        s.refusal = None
        s.batch()
        s.work()
        assert(s.failures == 0)
        assert(s.published.toSeq == Seq(7))
        s.scheduler.close()
      }
    }

  test("a snapshot of a checkpoint that was deleted is no warning") {
    withSetting { s =>
      def warnings = Warnings.during("io.bucketstate") {
        s.scheduler.run(new DueSnapshot(() => throw new MissingException("1.changelog", "", "")))
      }
      assert(warnings.size == 1 && s.failures == 1)
      s.isGone = true
      assert(warnings.isEmpty && s.failures == 1)
      s.scheduler.close()
    }
  }

  test("what waits for a thread holds nothing: the state is captured when the work begins") {
    withSetting { s =>
      (1 to 5).foreach(_ => s.batch())
      assert(s.waiting.size == 1)
      assert(s.captured.isEmpty)
      s.work()
      assert(s.captured.toSeq == Seq(5))
      assert(s.published.toSeq == Seq(5))
      assert(s.released > 0)
      s.scheduler.close()
    }
  }

  test("a snapshot that was given up before it began captures nothing") {
    withSetting { s =>
      (1 to 5).foreach(_ => s.batch())
      s.scheduler.close()
      s.work()
      assert(s.captured.isEmpty && s.published.isEmpty)
    }
  }

  test(
    "a snapshot that was due before all batches were taken back has nothing to do, and has not failed"
  ) {
    withSetting { s =>
      (1 to 5).foreach(_ => s.batch())
      s.room.backTo(0)
      s.work()
      assert(s.captured.toSeq == Seq(0))
      assert(s.released == 1)
      assert(s.published.isEmpty && s.failures == 0)
      s.scheduler.close()
    }
  }

  test("what a snapshot reads of memory is held until all is read, and else let go at once") {
    withSetting { s =>
      def taken(version: Long): Watched = {
        val watched = new Watched(s.room.target(version, fromMemory = true))
        assert(s.scheduler.opened(version))
        s.scheduler.run(new DueSnapshot(() => watched.target))
        assert(s.published.last == version && s.failures == 0)
        watched
      }
      s.room.commit((1 to 300).map(i => s"some-$i" -> Some("x")): _*)
      s.scheduler.checkpointed(1, 100)
      (1 to 2).foreach(_ => s.batch())
      val first = taken(3)
      assert(first.reads == 4 && !first.isReadLate, "four buckets")
      (1 to 3).foreach(_ => s.batch())
      val onTop = taken(6)
      assert(onTop.reads == 0 && onTop.releases == 2, "before it reads files, and at the end")
      s.scheduler.close()
    }
  }

  test("a snapshot of memory is of its version, whatever batches write while it is made") {
    TempFolder.use { folder =>
      val own = Thread.currentThread
      val (held, goOn, made) = (new CountDownLatch(1), new CountDownLatch(1), new CountDownLatch(1))
      val files = new WatchedFileStore(
        new MemoryFileStore,
        // At the first file of several: some buckets have not been read yet.
        before = name =>
          if (name.endsWith(".sst") && (Thread.currentThread ne own)) {
            held.countDown()
            goOn.await()
          },
        after = name => if (name == "2.manifest") made.countDown()
      )
      def happens(what: CountDownLatch) = assert(what.await(20, TimeUnit.SECONDS))
      val harness = new StoreHarness(files, folder)
      val settings = Seq(
        "engine" -> Engine.Heap.name,
        "snapshot.maxVersions" -> "2",
        "run.maxFileBytes" -> "1"
      )
      def texts(version: Long) = (0 until 200).map(n => s"key $n" -> s"$n of $version")
      def changes(version: Long) = texts(version).map { case (k, v) => k -> Option(v) }
      try {
        val store = harness.open(withIds = false, settings: _*)
        (1L to 2L).foreach(v => StoreHarness.batch(store, v - 1)(changes(v): _*))
        // The snapshot begins of the version that this opens.
        val next = StoreHarness.write(store, 2)
        happens(held)
        StoreHarness.change(next, changes(3): _*)
        next.commit()
        next.end()
        (4L to 6L).foreach(v => StoreHarness.batch(store, v - 1)(changes(v): _*))
        goOn.countDown()
        happens(made)
        store.close()
        assert(files.list("runs").size == 4)
        // So that nothing but the snapshot leads to its version.
        files.delete("1.changelog")
        val again = harness.open(withIds = false, settings: _*)
        assert(StoreHarness.read(again, 2) == texts(2).toMap)
        assert(StoreHarness.read(again, 6) == texts(6).toMap)
      } finally {
        goOn.countDown()
        harness.close()
      }
    }
  }

  test("who is waited for does not rest") {
    withSetting { s =>
      (1 to 3).foreach(_ => s.batch())
      assert(s.scheduler.opened(3))
      s.scheduler.run(s.due())
      assert(s.published.toSeq == Seq(3))
      s.scheduler.force(s.room.target(s.room.commit("a" -> Some("b")), fromMemory = true))
      assert(s.published.toSeq == Seq(3, 4))
      s.scheduler.close()
    }
  }

  /** Batches until a compaction waits for a thread; the snapshots before it are taken. */
  private def untilCompaction(s: Setting): Unit = {
    var rounds = 0
    while (s.waiting.isEmpty && rounds < 20) {
      rounds += 1
      (1 to 4).foreach(_ => s.batch())
      s.work()
    }
    assert(s.waiting.size == 1, "snapshots do not run before the next batch, so it is a compaction")
  }

  test("runs are merged by a thread of their own, and the next snapshot has fewer of them") {
    withSetting { s =>
      s.room.commit((1 to 300).map(i => s"some-$i" -> Some("x")): _*)
      s.scheduler.checkpointed(1, 100)
      untilCompaction(s)
      val before = s.scheduler.drainFigures(s.room.newest)(MetricKey.Runs)
      s.work() // the compaction
      val figures = s.scheduler.drainFigures(s.room.newest)
      assert(figures(MetricKey.CompactionBytes) > 0)
      assert(figures(MetricKey.SnapshotFailures) == 0)
      (1 to 4).foreach(_ => s.batch())
      s.work()
      val after = s.scheduler.drainFigures(s.room.newest)
      assert(after(MetricKey.Runs) < before)
      assert(after(MetricKey.ColdBytes) == s.publishedBytes)
      s.scheduler.close()
    }
  }

  test("a compaction that waits for a thread does not hold up the end of the store") {
    withSetting { s =>
      s.room.commit((1 to 300).map(i => s"some-$i" -> Some("x")): _*)
      s.scheduler.checkpointed(1, 100)
      untilCompaction(s)
      s.scheduler.drainFigures(s.room.newest)
      s.scheduler.close()
      s.work()
      assert(s.room.snapshotter.inFlight.isEmpty)
      assert(s.scheduler.drainFigures(s.room.newest)(MetricKey.CompactionBytes) == 0)
    }
  }

  test("a compaction that no thread can be had for has failed, and another one is tried") {
    withSetting { s =>
      s.room.commit((1 to 300).map(i => s"some-$i" -> Some("x")): _*)
      s.scheduler.checkpointed(1, 100)
      untilCompaction(s)
      s.waiting.clear() // as if it had never begun
      (1 to 40).foreach { _ =>
        s.batch()
        s.work()
      }
      assert(s.scheduler.drainFigures(s.room.newest)(MetricKey.Runs) <= 6)
      s.scheduler.close()
    }
  }
}
