package io.bucketstate.background

import java.util.concurrent.atomic.AtomicInteger
import java.util.concurrent.{ConcurrentLinkedQueue, CountDownLatch, CyclicBarrier, TimeUnit}

import scala.jdk.CollectionConverters._

import io.bucketstate.testkit.TidySuite

class InParallelSuite extends TidySuite {
  test("every number is loaded once, two at a time where the pool has a thread to spare") {
    val both = new CyclicBarrier(2) // one thread alone would wait here for ever
    val loaded = new ConcurrentLinkedQueue[Int]
    val first = new AtomicInteger
    InParallel.forEach(40) { number =>
      if (first.getAndIncrement() < 2) both.await(60, TimeUnit.SECONDS)
      loaded.add(number)
      ()
    }
    assert(loaded.asScala.toSeq.sorted == (0 until 40))
  }

  test("a busy pool holds nothing up") {
    val release = new CountDownLatch(1)
    (1 to 8).foreach(_ => BackgroundPool.submit(() => release.await()))
    try {
      val loaded = new AtomicInteger
      InParallel.forEach(40) { _ =>
        loaded.incrementAndGet()
        ()
      }
      assert(loaded.get == 40)
    } finally release.countDown()
  }

  test("a failure is thrown when all that was begun has ended") {
    final class Broken extends Exception
    for (broken <- Seq(0, 3, 39)) {
      val running = new AtomicInteger
      assertThrows[Broken](InParallel.forEach(40) { number =>
        running.incrementAndGet()
        try if (number == broken) throw new Broken
        finally {
          running.decrementAndGet()
          ()
        }
      })
      assert(running.get == 0)
    }
  }
}
