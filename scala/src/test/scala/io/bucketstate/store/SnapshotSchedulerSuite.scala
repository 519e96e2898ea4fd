package io.bucketstate.store

import java.util.concurrent.{Executor, RejectedExecutionException}

import scala.collection.mutable.ArrayBuffer
import scala.util.Using

import io.bucketstate.background.{Background, NeediestFirst, PacePlan, Pause, Ticker}
import io.bucketstate.checkpoint.snapshot.SnapshotPlan
import io.bucketstate.config.MetricKey
import io.bucketstate.error.MissingException
import io.bucketstate.testkit.{MemoryFileStore, SnapshotRoom, TempFolder, TidySuite, Warnings}

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
      Ticker.System,
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
