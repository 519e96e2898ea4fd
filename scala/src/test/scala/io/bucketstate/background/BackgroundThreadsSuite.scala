package io.bucketstate.background

import java.util.concurrent.atomic.{AtomicInteger, AtomicLong}
import java.util.concurrent.{CountDownLatch, Executor, Semaphore, TimeUnit}

import io.bucketstate.testkit.TidySuite

/** How many threads work at a time, and what becomes of the rest when one of them hangs. */
class BackgroundThreadsSuite extends TidySuite {

  test("what hangs holds up what comes after it only for a while, and up to a few") {
    val threads = new BackgroundThreads(1, mostSpare = 2, overdueMs = 50)
    val (hang, others) = (new CountDownLatch(1), new CountDownLatch(3))
    (1 to 2).foreach(_ => threads.execute(() => hang.await()))
    (1 to 3).foreach(_ => threads.execute(() => others.countDown()))
    assert(others.await(30, TimeUnit.SECONDS))
    hang.countDown()
  }

  test("what hangs is replaced where nobody looks later, as no thread could be made for that") {
    def full(): Unit = throw new OutOfMemoryError("unable to create native thread")
    for (later <- Seq[Executor](_ => (), _ => full())) {
      val now = new AtomicLong
      object ticker extends Ticker {
        override def nanos: Long = now.get
      }
      val threads =
        new BackgroundThreads(1, mostSpare = 1, overdueMs = 50, ticker = ticker, later = _ => later)
      val (hang, begun, other) =
        (new CountDownLatch(1), new CountDownLatch(1), new CountDownLatch(2))
      threads.execute { () =>
        begun.countDown()
        hang.await()
      }
      assert(begun.await(30, TimeUnit.SECONDS))
      threads.execute(() => other.countDown())
      now.set(60 * 1000000L)
      threads.execute(() => other.countDown())
      assert(other.await(30, TimeUnit.SECONDS))
      hang.countDown()
    }
  }

  test("what may take long holds up what comes after it, unless no record passes any more") {
    val now = new AtomicLong
    object ticker extends Ticker {
      override def nanos: Long = now.get
    }
    def pass(millis: Long): Unit = {
      now.addAndGet(millis * 1000000L)
      ()
    }
    val threads =
      new BackgroundThreads(1, mostSpare = 1, overdueMs = 50, mayTakeLong = true, ticker)
    val (hang, other) = (new CountDownLatch(1), new CountDownLatch(1))
    val (asked, done) = (new Semaphore(0), new Semaphore(0))
    val steps = 40
    threads.execute { () =>
      val pace =
        new Pace(PacePlan(), PaceSituation(isBusy = false, 0.0, 0.0, _), ticker, Pause.System)
      (1 to steps).foreach { _ =>
        asked.acquire()
        (1 to Pace.RecordsPerLook).foreach(_ => pace.pass())
        done.release()
      }
      hang.await()
    }
    threads.execute(() => other.countDown())
    (1 to steps).foreach { _ =>
      pass(40)
      asked.release()
      done.acquire()
      assert(!other.await(10, TimeUnit.MILLISECONDS))
    }
    pass(50)
    assert(other.await(30, TimeUnit.SECONDS))
    hang.countDown()
  }

  test("what takes no longer than it may is done by no more threads than there are") {
    val threads = new BackgroundThreads(2, mostSpare = 2, overdueMs = 60000)
    val (atWork, most, done) = (new AtomicInteger, new AtomicInteger, new CountDownLatch(20))
    (1 to 20).foreach { _ =>
      threads.execute { () =>
        most.accumulateAndGet(atWork.incrementAndGet(), Math.max(_, _))
        Thread.`yield`()
        atWork.decrementAndGet()
        done.countDown()
      }
    }
    assert(done.await(30, TimeUnit.SECONDS))
    assert(most.get <= 2)
  }

  test("where no thread can be made, nobody comes to optional work, which is no failure") {
    var isFull = true
    var done = 0
    val threads = new OptionalThreads(task =>
      if (isFull) throw new OutOfMemoryError("unable to create native thread") else task.run()
    )
    threads.execute(() => done += 1)
    isFull = false
    threads.execute(() => done += 1)
    assert(done == 1)
  }
}
