package io.bucketstate.store

import java.nio.file.{Files, Path}
import java.util.concurrent.CountDownLatch

import scala.jdk.CollectionConverters._
import scala.util.Using

import org.scalatest.concurrent.Eventually
import org.scalatest.time.{Millis, Seconds, Span}

import io.bucketstate.checkpoint.io.Attempt
import io.bucketstate.testkit.StoreHarness._
import io.bucketstate.testkit.{TidySuite, _}

/** What a store has of its process is given back, however its close goes, and by one that could not be made. */
class ClosingSuite extends TidySuite with Eventually {

  implicit override val patienceConfig: PatienceConfig =
    PatienceConfig(timeout = Span(30, Seconds), interval = Span(10, Millis))

  /** Nothing of it is left when `body` is through. */
  private def leavingNothing(body: Path => Unit): Unit = TempFolder.use { folder =>
    val before = LeftOvers.ofProcess
    body(folder)
    eventually {
      assert(LeftOvers.ofProcess == before)
      assert(Using.resource(Files.list(folder))(_.iterator.asScala.toSeq) == Nil)
    }
  }

  private val many = (1 to 500).map(n => s"key $n" -> Option("x" * 100))

  for (engine <- Seq("heap", "rocksdb"))
    test(s"a killed task closes its store whole while a snapshot is made, engine $engine") {
      leavingNothing { folder =>
        val (begun, goOn) = (new CountDownLatch(1), new CountDownLatch(1))
        val files = new FaultyFileStore(
          new MemoryFileStore,
          name =>
            if (name.startsWith("write") && name.endsWith(".manifest")) {
              begun.countDown()
              goOn.await()
            }
        )
        val harness = new StoreHarness(files, folder)
        val store =
          harness.open(withIds = false, "engine" -> engine, "snapshot.maxVersions" -> "1")
        (0L until 3L).foreach(batch(store, _)(many: _*))
        begun.await()
        val closer = new Thread(() => {
          Thread.currentThread().interrupt()
          assert(store.close())
          assert(Thread.interrupted(), "who was interrupted still is")
        })
        var failure = Option.empty[Throwable]
        closer.setUncaughtExceptionHandler((_, e) => failure = Some(e))
        closer.start()
        eventually(assert(closer.getState == Thread.State.TIMED_WAITING))
        goOn.countDown()
        closer.join()
        assert(failure.isEmpty, failure)
      }
    }

  test("what fails in a close is thrown, and all the rest is done") {
    leavingNothing { folder =>
      val files = new FaultyFileStore(
        new MemoryFileStore,
        call => if (call == "close") throw new StepFault.StepError(call)
      )
      val harness = new StoreHarness(files, folder)
      val store = harness.open(withIds = false, "snapshot.maxVersions" -> "1")
      (0L until 3L).foreach(batch(store, _)(many: _*))
      assertThrows[StepFault.StepError](store.close())
      assert(!store.close())
    }
  }

  test("a store that is still written when it is closed is given back when its writer ends") {
    leavingNothing { folder =>
      val harness = new StoreHarness(new MemoryFileStore, folder)
      val store = harness.open(withIds = false, "lockAcquireTimeout" -> "20")
      batch(store, 0)(many: _*)
      val session = write(store, 1)
      assertThrows[Refusal.StillHeldBy](store.close())
      assertThrows[Refusal.Closed](write(store, 1))
      assertThrows[Refusal.Closed](store.openForRead(Attempt(1)))
      // Spark has forgotten the store, and commits all the same.
      change(session, "a" -> Some("1"))
      session.verify()
      session.commit()
      session.end()
      val again = harness.open(withIds = false)
      assert(read(again, 2).size == many.size + 1)
      again.close()
    }
  }

  test("readers that are open at the close keep what they have, and hold nothing of the process") {
    leavingNothing { folder =>
      val harness = new StoreHarness(new MemoryFileStore, folder)
      val store = harness.open(withIds = false)
      batch(store, 0)(many: _*)
      val session = store.openForRead(Attempt(1))
      assert(store.close())
      assert(contents(session.table, 1).size == many.size)
      session.end()
    }
  }

  test("a store that could not be made counts nowhere, and its files are closed") {
    leavingNothing { folder =>
      @volatile var closed = 0
      (1 to 3).foreach { _ =>
        val files = new FaultyFileStore(
          new MemoryFileStore,
          {
            case "createFolder" => throw new IllegalStateException("not writable")
            case "close"        => closed += 1
            case _              => ()
          }
        )
        val harness = new StoreHarness(files, folder)
        assertThrows[IllegalStateException](
          harness.open(withIds = false, "memory.maxBytes" -> "1m")
        )
      }
      assert(closed == 3)
    }
  }

  test("a store that Spark lets go of before it is maintained is closed when that is interrupted") {
    leavingNothing { folder =>
      val files = new FaultyFileStore(
        new MemoryFileStore,
        call => if (call.startsWith("list")) throw new InterruptedException(call)
      )
      val harness = new StoreHarness(files, folder, retained = 2, unloads = true)
      val store = harness.open(withIds = false)
      (0L until 4L).foreach(batch(store, _)(many: _*))
      assertThrows[InterruptedException](store.maintain())
      assert(!store.close())
    }
  }
}
