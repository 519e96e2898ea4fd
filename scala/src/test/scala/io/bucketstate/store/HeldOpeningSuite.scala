package io.bucketstate.store

import java.util.concurrent.CountDownLatch
import java.util.concurrent.atomic.AtomicInteger

import scala.util.{Failure, Success, Try}

import io.bucketstate.checkpoint.io.Attempt
import io.bucketstate.config.Engine
import io.bucketstate.testkit.StoreHarness._
import io.bucketstate.testkit.{TidySuite, _}

/**
 * Two attempts of a task in one store: the first, of an older attempt of its stage, is held up at one step after the other
 * of opening its version, while the second opens, writes and commits; then the first goes on. The state is what the
 * commits made of it: as memory has it, after all that can leave memory has left it, and after a restart.
 */
class HeldOpeningSuite extends TidySuite {
  import HeldOpeningSuite._

  for (
    (name, first) <- Seq[(String, OpenStore => Unit)](
      "a reader" -> (_.openForRead(Attempt(Base)).end()),
      "a reader of the version before" -> (_.openForRead(Attempt(Base - 1)).end()),
      "a writer" -> { store =>
        val session = write(store, Base)
        change(session, "key 1" -> Some("of the first attempt"), "key 3" -> None)
        session.abort()
        session.end()
      }
    )
  )
    test(s"$name that is held up while it opens its version changes nothing of what is committed") {
      val steps = run(first, heldAt = 0)
      assert(steps > 5)
      (1 to steps).foreach(n => withClue(s"held at step $n: ")(run(first, n)))
    }

  /** @return how many steps the first attempt has */
  private def run(first: OpenStore => Unit, heldAt: Int): Int = TempFolder.use { folder =>
    val (count, held, goOn) = (new AtomicInteger, new CountDownLatch(1), new CountDownLatch(1))
    val step: String => Unit = _ =>
      if (Thread.currentThread().getName == FirstAttempt && count.incrementAndGet() == heldAt) {
        held.countDown()
        goOn.await()
      }
    val files = new FaultyFileStore(new MemoryFileStore, step)
    val harness = new StoreHarness(files, folder, step = step)
    val settings =
      Seq(
        "engine" -> Engine.Heap.name,
        "snapshot.maxVersions" -> "2",
        "snapshot.mode" -> "sync",
        "lockAcquireTimeout" -> "30"
      )
    var model = Map.empty[String, String]

    def committed(store: OpenStore, version: Long): Unit = {
      val changes = Seq(
        s"key ${version % 4}" -> Some(s"$version"),
        s"key ${(version + 1) % 4}" -> None,
        s"of $version" -> Some("x")
      )
      batch(store, version)(changes: _*)
      model = changes.foldLeft(model) { case (m, (k, v)) => m.updatedWith(k)(_ => v) }
    }

    val before = harness.open(withIds = false, settings: _*)
    (0L until Base).foreach(committed(before, _))
    before.close()

    val store = harness.open(withIds = false, settings: _*)
    val firstAttempt = new Thread(() => { Try(first(store)); held.countDown() }, FirstAttempt)
    firstAttempt.start()
    held.await()
    var outcome: Try[Unit] = Success(())
    val second = new Thread(() => outcome = Try(committed(store, Base)))
    second.start()
    awaitEndOrBlocked(second)
    goOn.countDown()
    Seq(firstAttempt, second).foreach(_.join())
    // Where the first one holds the store the second has to wait for it, as its task would be told to.
    val wasHeldUp = outcome match {
      case Success(_)                      => false
      case Failure(_: Refusal.StillHeldBy) => true
      case Failure(other)                  => throw other
    }
    if (wasHeldUp) committed(store, Base)
    var version = Base + 1
    (1 to 4).foreach { _ =>
      committed(store, version)
      version += 1
      assert(read(store, version) == model, "in memory")
    }
    val session = write(store, version)
    session.table.settle()
    session.table.families.foreach(f => (0 until f.numBuckets).foreach(f.evict(_)))
    assert(session.table.families.exists(_.notWhole > 0), "there was something to leave memory")
    assert(contents(session.table, version + 1) == model, "after it left memory")
    session.abort()
    session.end()
    assert(store.close())

    val again = harness.open(withIds = false, settings: _*)
    assert(read(again, version) == model, "after a restart")
    again.close()
    count.get
  }
}

private object HeldOpeningSuite {

  /** A step may be taken with a lock held that the other thread needs: nobody can come between then. */
  private def awaitEndOrBlocked(thread: Thread): Unit = {
    var blocked = 0
    while (thread.isAlive && blocked < 20) {
      thread.join(1)
      blocked = if (thread.getState == Thread.State.BLOCKED) blocked + 1 else 0
    }
  }

  private final val FirstAttempt = "first attempt"

  /** The version that both attempts build on. */
  private final val Base = 7L
}
