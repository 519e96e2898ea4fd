package io.bucketstate.testkit

import java.util.concurrent.atomic.AtomicBoolean
import java.util.concurrent.{CountDownLatch, ExecutionException, FutureTask, TimeUnit}

import scala.annotation.tailrec

import org.scalatest.Assertions._

/** Storage that hangs for one of those who call while it is to, whatever interrupts them, until it is let go. */
final class Hanging {
  private[this] val isAwaited = new AtomicBoolean
  private[this] val begun = new CountDownLatch(1)
  private[this] val released = new CountDownLatch(1)

  /** Called with each request; the first within [[interrupted]] hangs. */
  def apply(): Unit = if (isAwaited.compareAndSet(true, false)) {
    begun.countDown()
    Hanging.await(released)
  }

  /**
   * One thread hangs in `work`, and another one that has to wait for it is interrupted.
   *
   * @param work the same for both; goes well as soon as nothing hangs
   * @return what the second one ended with, while the first one still hung
   */
  def interrupted(work: => Any): Throwable = {
    val first = new FutureTask[Any](() => work)
    val second = new FutureTask[Any](() => work)
    isAwaited.set(true)
    new Thread(first).start()
    try {
      assert(begun.await(60, TimeUnit.SECONDS), "storage has to be asked")
      val waiting = new Thread(second)
      waiting.start()
      Hanging.awaitWaiting(waiting)
      waiting.interrupt()
      val failure = intercept[ExecutionException](second.get(60, TimeUnit.SECONDS)).getCause
      assert(!first.isDone)
      failure
    } finally {
      released.countDown()
      first.get(60, TimeUnit.SECONDS)
      ()
    }
  }
}

object Hanging {
  private val Waiting = Set(Thread.State.BLOCKED, Thread.State.WAITING)

  /** Until it is released, however often the thread is interrupted meanwhile. */
  @tailrec def await(released: CountDownLatch): Unit = {
    val isReleased =
      try {
        released.await()
        true
      } catch { case _: InterruptedException => false }
    if (!isReleased) await(released)
  }

  /** Until a thread waits for another one. */
  def awaitWaiting(thread: Thread): Unit = {
    var times = 0
    while (thread.isAlive && times < 20) {
      thread.join(1)
      times = if (Waiting(thread.getState)) times + 1 else 0
    }
    assert(thread.isAlive, "it has to wait")
    ()
  }
}
