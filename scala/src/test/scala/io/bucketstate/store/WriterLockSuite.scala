package io.bucketstate.store

import java.util.concurrent.{CountDownLatch, TimeUnit}

import io.bucketstate.background.{Ticker, Writers}
import io.bucketstate.testkit.StoreHarness._
import io.bucketstate.testkit.{Refusal, StoreHarness, TidySuite}

/** One writer at a time: who waits, how long, and what becomes of who has lost its stamp. */
class WriterLockSuite extends TidySuite {

  /** A clock that moves by a second whenever it is looked at. */
  private final class Leaping extends Ticker {
    private var seconds = 0L
    override def nanos: Long = {
      seconds += 1
      seconds * 1000000000L
    }
  }

  private def lockOf(
      host: LockHost,
      writers: Writers = new Writers,
      end: () => Unit = () => ()
  ): WriterLock =
    new WriterLock(host, timeoutMs = 10000L, new Leaping, writers, end)

  private def onThread(body: => Unit): Thread = {
    val thread = new Thread(() => body)
    thread.start()
    thread
  }

  test("a stamp is good until it is given back; then it fails, whoever writes by then") {
    use { host =>
      val lock = lockOf(host)
      val first = lock.acquire()
      assert(lock.isHeldBy(first))
      lock.verify(first)
      lock.release(first)
      assert(!lock.isHeldBy(first))
      assert(intercept[Refusal.InvalidStamp](lock.verify(first)).current == WriterLock.Free)
      val second = lock.acquire()
      lock.release(first) // of no effect: it is another's by now
      assert(lock.isHeldBy(second))
      assert(intercept[Refusal.InvalidStamp](lock.verify(first)).current == second)
    }
  }

  test("who waits gets the lock when it is given back") {
    use { host =>
      val lock = new WriterLock(host, 60000L, Ticker.System, new Writers, () => ())
      val held = lock.acquire()
      val got = new CountDownLatch(1)
      val waiter = onThread {
        lock.release(lock.acquire())
        got.countDown()
      }
      assert(!got.await(100, TimeUnit.MILLISECONDS), "it was handed out twice")
      lock.release(held)
      assert(got.await(30, TimeUnit.SECONDS))
      waiter.join()
    }
  }

  test("the wait has a limit, and its error tells who waited for whom, and where that one is") {
    use { host =>
      val lock = lockOf(host)
      lock.acquire()
      val error = intercept[Refusal.StillHeldBy](lock.acquire()).held
      val me = s"[ThreadId: ${Thread.currentThread().getId}, task: a test]"
      assert(error.call == StoreCall.Load && error.wantedBy == me && error.heldBy == me)
      assert(error.waitedMs >= 10000L)
      assert(error.stack.contains("WriterLockSuite"))
      assert(intercept[Refusal.StillHeldBy](lock.close()).held.call == StoreCall.Close)
    }
  }

  test("a task that is killed waits no longer, and nobody has lost the lock to it") {
    use { host =>
      val lock = lockOf(host)
      val held = lock.acquire()
      host.onWait = () => throw new InterruptedException("killed")
      assertThrows[InterruptedException](lock.acquire())
      assert(lock.isHeldBy(held))
    }
  }

  test("writers are counted from the lock to its release, and once") {
    use { host =>
      val writers = new Writers
      val lock = lockOf(host, writers)
      val stamp = lock.acquire()
      assert(writers.areActive)
      lock.release(stamp)
      lock.release(stamp)
      assert(!writers.areActive)
    }
  }

  test("closing waits for who writes, and what was waiting for the lock meanwhile is refused") {
    use { harness =>
      val store = harness.open(withIds = false)
      val session = write(store, 0)
      val waits = new CountDownLatch(1)
      harness.onWait = () => waits.countDown()
      @volatile var closed = false
      val closer = onThread { closed = store.close() }
      assert(waits.await(30, TimeUnit.SECONDS))
      assert(!closed && session.isCurrent)
      change(session, "a" -> Some("1"))
      session.verify()
      session.commit()
      session.end()
      closer.join()
      assert(closed)
      assert(harness.files.exists("1.changelog"))
      assertThrows[Refusal.Closed](write(store, 1))
    }
  }

  test("a session that another one has taken over fails with its next call") {
    use { harness =>
      val store = harness.open(withIds = false)
      val zombie = write(store, 0)
      zombie.end()
      val next = write(store, 0)
      assert(!zombie.isCurrent && next.isCurrent)
      assertThrows[Refusal.InvalidStamp](zombie.verify())
      zombie.end() // again is no error, and of no effect
      assert(next.isCurrent)
      next.abort()
      next.end()
      store.close()
    }
  }

  test("a store that is held longer than the setting allows is not handed out") {
    StoreHarness.use { harness =>
      val store = harness.open(withIds = false, "lockAcquireTimeout" -> "20")
      val session = write(store, 0)
      assertThrows[Refusal.StillHeldBy](write(store, 0))
      assertThrows[Refusal.StillHeldBy](store.close())
      session.abort()
      session.end()
      assert(!store.close(), "its writer's end has closed it")
    }
  }

  test(
    "a close that came too early is done by who lets go, once, and nobody gets the lock meanwhile"
  ) {
    use { host =>
      var ends = 0
      val lock = lockOf(host, end = () => ends += 1)
      val held = lock.acquire()
      (1 to 2).foreach(_ => assertThrows[Refusal.StillHeldBy](lock.close()))
      assertThrows[Refusal.Closed](lock.acquire())
      assertThrows[Refusal.Closed](lock.failIfClosed(StoreCall.Load))
      assert(lock.isHeldBy(held) && ends == 0)
      lock.release(held)
      lock.release(held)
      assert(ends == 1 && !lock.close())
    }
  }

  test("a close that is interrupted while it waits is done by who lets go, too") {
    use { host =>
      var ends = 0
      val lock = lockOf(host, end = () => ends += 1)
      val held = lock.acquire()
      Thread.currentThread().interrupt()
      assertThrows[InterruptedException](lock.close())
      assert(ends == 0)
      lock.release(held)
      assert(ends == 1)
    }
  }

  test("who lets go has nothing to do with how the close goes that was left to him") {
    use { host =>
      val lock = lockOf(host, end = () => throw new IllegalStateException("cannot be closed"))
      val held = lock.acquire()
      assertThrows[Refusal.StillHeldBy](lock.close())
      lock.release(held)
      assert(!lock.close())
    }
  }
}
