package io.bucketstate

import java.util.concurrent.CountDownLatch

import scala.util.Try

import io.bucketstate.testkit.ProviderHarness._
import io.bucketstate.testkit.TidySuite

/**
 * Calls of a second thread of a task, which are not over when the task ends: Spark feeds Python and serves its state in
 * threads that it does not wait for.
 */
class LateCallsSuite extends TidySuite {
  import LateCallsSuite._

  test("a thread that puts all the time changes nothing of the attempts after its own") {
    withHarness { harness =>
      val provider = harness.provider()
      batch(provider, 0)((1L, "a") -> (1L, "one"))()
      for (_ <- 1 to Rounds) {
        val killed = provider.getStore(1)
        val hasPut = new CountDownLatch(1)
        val thread = begun {
          Iterator
            .from(0)
            .map(n => Try(killed.put(key(n.toLong % 100, "late"), value(n.toLong, "late"))))
            .tapEach(_ => hasPut.countDown())
            .takeWhile(_.isSuccess)
            .foreach(_ => ())
        }
        hasPut.await()
        killed.abort()
        val retry = provider.getStore(1)
        assert(contents(retry) == Map((1L, "a") -> (1L, "one")))
        thread.join()
        assert(contents(retry) == Map((1L, "a") -> (1L, "one")))
        retry.abort()
      }
      provider.close()
    }
  }

  test("a store that its own thread alone has called is undone in memory") {
    withHarness { harness =>
      val provider = harness.provider()
      batch(provider, 0)((1L, "a") -> (1L, "one"))()
      val killed = provider.getStore(1)
      killed.put(key(2, "b"), value(2, "undone"))
      killed.abort()
      val retry = provider.getStore(1)
      assert(contents(retry) == Map((1L, "a") -> (1L, "one")))
      assert(retry.commit() == 2)
      assert(figures(retry)("bucketedTableHits") == 1)
      provider.close()
    }
  }
}

private object LateCallsSuite {
  private final val Rounds = 200

  private def begun(body: => Any): Thread = {
    val thread = new Thread(() => {
      body
      ()
    })
    thread.start()
    thread
  }
}
