package io.bucketstate.background

import java.util.concurrent.atomic.AtomicInteger
import java.util.concurrent.{CountDownLatch, TimeUnit}

import org.scalatest.concurrent.Eventually
import org.scalatest.time.{Millis, Seconds, Span}

import io.bucketstate.testkit.{TidySuite, Warnings}

class RepeatedSuite extends TidySuite with Eventually {

  implicit override val patienceConfig: PatienceConfig =
    PatienceConfig(Span(20, Seconds), Span(10, Millis))

  private final val EachMs = 1L

  private def repeated(work: () => Unit): Repeated =
    Repeated("a test", TimeUnit.MILLISECONDS.toNanos(EachMs))(work)

  for (failure <- Seq(new IllegalStateException("this is a test"), new StackOverflowError))
    test(s"what ends it is in the log: ${failure.getClass.getSimpleName}") {
      // It is written after the work has failed, at once but by another thread.
      eventually {
        val (begun, hasFailed) = (new AtomicInteger, new CountDownLatch(1))
        val warnings = Warnings.during("io.bucketstate") {
          val one = repeated { () =>
            begun.incrementAndGet()
            hasFailed.countDown()
            throw failure
          }
          try {
            assert(hasFailed.await(20, TimeUnit.SECONDS))
            Thread.`yield`()
          } finally one.stop()
        }
        assert(warnings.size == 1 && warnings.head.contains("a test"))
        assert(begun.get == 1)
      }
    }

  test("that it was stopped in the middle of its work is no warning") {
    val (begun, hasEnded) = (new CountDownLatch(1), new CountDownLatch(1))
    val warnings = Warnings.during("io.bucketstate") {
      val one = repeated { () =>
        begun.countDown()
        try new CountDownLatch(1).await()
        finally hasEnded.countDown()
      }
      assert(begun.await(20, TimeUnit.SECONDS))
      one.stop()
      assert(hasEnded.await(20, TimeUnit.SECONDS))
    }
    assert(warnings.isEmpty)
  }
}
