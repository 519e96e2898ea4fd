package io.bucketstate.store

import java.util.UUID
import java.util.concurrent.{CountDownLatch, ExecutionException, FutureTask, TimeUnit}

import scala.collection.mutable.ArrayBuffer
import scala.util.Using

import io.bucketstate.background.{Background, Patience, Ticker}
import io.bucketstate.checkpoint.snapshot.{AloneState, SnapshotPlan}
import io.bucketstate.config.Engine
import io.bucketstate.error.UnavailableException
import io.bucketstate.testkit.{
  MemoryFileStore,
  SnapshotRoom,
  StoreHarness,
  TempFolder,
  TidySuite,
  WatchedFileStore
}

/** How long a task waits that must have a snapshot, while the storage keeps another one of its store from ending. */
class HangingSnapshotSuite extends TidySuite {

  private def happens(what: CountDownLatch): Unit = assert(what.await(20, TimeUnit.SECONDS))

  /** Files of which no data file can be written until that is let go. */
  private final class Hanging(awaited: String) {
    private val (begun, free, made) =
      (new CountDownLatch(1), new CountDownLatch(1), new CountDownLatch(1))

    val files: WatchedFileStore = new WatchedFileStore(
      new MemoryFileStore,
      before = name =>
        if (name.endsWith(".sst")) {
          begun.countDown()
          free.await()
        },
      after = name => if (name == awaited) made.countDown()
    )

    def begins(): Unit = happens(begun)

    def letGo(): Unit = free.countDown()

    def isMade: Boolean = made.getCount == 0

    def isMadeNow(): Unit = {
      letGo()
      happens(made)
    }
  }

  for (isKilled <- Seq(true, false))
    test(
      "a commit that must have a snapshot waits no longer for another one once its task " +
        (if (isKilled) "was killed" else "is interrupted")
    ) {
      TempFolder.use { folder =>
        val hanging = new Hanging("2.manifest")
        val harness = new StoreHarness(hanging.files, folder)
        try {
          val settings = Seq("engine" -> Engine.Heap.name, "snapshot.maxVersions" -> "2")
          val store = harness.open(withIds = false, settings: _*)
          (1L to 2L).foreach(v => StoreHarness.batch(store, v - 1)("a" -> Some(s"$v")))
          // The snapshot begins of the version that this opens.
          val session = StoreHarness.write(store, 2, forceSnapshot = true)
          hanging.begins()
          StoreHarness.change(session, "a" -> Some("3"))
          val waits = new CountDownLatch(1)
          harness.onWait = () => waits.countDown()
          val commit = new FutureTask[StoreFigures](() => session.commit())
          val task = new Thread(commit)
          task.start()
          happens(waits)
          if (isKilled) harness.onWait = () => throw new InterruptedException("killed")
          else task.interrupt()
          val e = intercept[ExecutionException](commit.get(20, TimeUnit.SECONDS))
          assert(e.getCause.isInstanceOf[InterruptedException])
          session.abort()
          session.end()
          harness.onWait = () => ()
          val next = StoreHarness.write(store, 2, forceSnapshot = true)
          assert(!hanging.isMade)
          hanging.isMadeNow()
          StoreHarness.change(next, "a" -> Some("another 3"))
          next.commit()
          next.end()
          assert(hanging.files.exists("3.manifest"))
          assert(StoreHarness.read(store, 3) == Map("a" -> "another 3"))
        } finally {
          hanging.letGo()
          harness.close()
        }
      }
    }

  test("a task that must have a snapshot waits for another one as long as it has patience") {
    TempFolder.use { folder =>
      val hanging = new Hanging("1.manifest")
      Using.resource(new SnapshotRoom(hanging.files, folder)) { room =>
        val published = ArrayBuffer.empty[Long]
        val scheduler = new SnapshotScheduler(
          room.snapshotter,
          SnapshotPlan(3, Long.MaxValue),
          "here",
          manifest => {
            published += manifest.version
            ()
          },
          () => false,
          Patience(20L, Ticker.System, () => ()),
          Background.ofProcess(Ticker.System)
        )
        (1 to 2).foreach(v => room.commit("a" -> Some(s"$v")))
        val target = room.target(2, fromMemory = true)
        val state = AloneState(target.file, new UUID(1, 1), Nil, nextFamily = 0, target.memory.get)
        val older = new Thread(() => scheduler.run(new DueSnapshot(() => room.target(1))))
        older.start()
        try {
          hanging.begins()
          val calls = Seq[() => Any](
            () => scheduler.force(target),
            () => scheduler.alone(state, mayReplace = true)
          )
          calls.foreach { call =>
            val e = intercept[UnavailableException](call())
            assert(e.file == hanging.files.location)
            assert(e.getMessage.contains("version 1 has been under way"))
            assert(e.getMessage.contains("version 2"))
          }
        } finally {
          hanging.letGo()
          older.join()
        }
        assert(published.toSeq == Seq(1L))
        scheduler.force(target)
        assert(published.toSeq == Seq(1L, 2L))
        scheduler.close()
      }
    }
  }
}
