package io.bucketstate.store

import java.util.concurrent.atomic.AtomicReference
import java.util.concurrent.{CountDownLatch, TimeUnit}

import org.scalatest.concurrent.Eventually
import org.scalatest.funsuite.AnyFunSuite
import org.scalatest.time.{Millis, Seconds, Span}

import io.bucketstate.error.UnavailableException
import io.bucketstate.testkit.StoreHarness._
import io.bucketstate.testkit.{
  FaultyFileStore,
  MemoryFileStore,
  StoreHarness,
  TempFolder,
  Warnings
}

/** What is loaded beside the batches when a store closes loses its files, which is nobody's business. */
class ClosedWhileLoadingSuite extends AnyFunSuite with Eventually {

  implicit override val patienceConfig: PatienceConfig =
    PatienceConfig(timeout = Span(20, Seconds), interval = Span(20, Millis))

  /** What is logged when a read beside a batch fails, and the store was closed before or is still open. */
  private def warnings(closes: Boolean): Seq[String] = TempFolder.use { folder =>
    val reader = new AtomicReference[Thread]
    val isHeld = new CountDownLatch(1)
    val goesOn = new CountDownLatch(1)
    @volatile var holdsBut: Thread = null
    val files = new FaultyFileStore(
      new MemoryFileStore,
      call =>
        if (
          call.startsWith("read runs/") && holdsBut != null && Thread.currentThread != holdsBut &&
          reader.compareAndSet(null, Thread.currentThread)
        ) {
          isHeld.countDown()
          goesOn.await()
          throw new UnavailableException(call, "it failed once", "This is a test.")
        }
    )
    val harness = new StoreHarness(files, folder)
    try {
      val writer = harness.open(
        withIds = false,
        "engine" -> "heap",
        "snapshot.mode" -> "sync",
        "snapshot.maxVersions" -> "1"
      )
      batch(writer, 0)((0 until 500).map(n => s"key $n" -> Option("value")): _*)
      writer.close()
      val store = harness.open(withIds = false, "engine" -> "heap")
      Warnings.during("io.bucketstate") {
        val session = write(store, 1)
        holdsBut = Thread.currentThread
        change(session, "key 1" -> Some("other"))
        assert(isHeld.await(20, TimeUnit.SECONDS), "nothing is loaded beside the batch")
        session.abort()
        session.end()
        if (closes) store.close()
        goesOn.countDown()
        eventually {
          assert(!reader.get.getStackTrace.exists(_.getClassName.startsWith(classOf[WarmUp].getName)))
        }
      }
    } finally {
      goesOn.countDown()
      harness.close()
    }
  }

  test("a failure beside the batches of an open store is a warning") {
    assert(warnings(closes = false).exists(_.contains("could not be loaded beside the batches")))
  }

  test("a store that was closed while it was loaded says nothing") {
    assert(warnings(closes = true) == Nil)
  }
}
