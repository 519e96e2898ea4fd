package io.bucketstate.background

import java.util.concurrent.RejectedExecutionException

import scala.collection.mutable.ArrayBuffer

import io.bucketstate.testkit.TidySuite

/** The order in which waiting work is begun, and work that no thread can be had for. */
class NeediestFirstSuite extends TidySuite {

  test("what is needed most when a thread is free comes first, whatever the order it came in") {
    val threads = ArrayBuffer.empty[Runnable]
    val waiting = new NeediestFirst(task => threads += task)
    val needs = Array(1.0, 3.0, 2.0, 0.5)
    val done = ArrayBuffer.empty[Int]
    needs.indices.foreach(i => waiting.submit(() => needs(i))(() => done += i))
    threads(0).run()
    needs(3) = 9.0
    threads.drop(1).foreach(_.run())
    assert(done == Seq(1, 3, 2, 0))
  }

  test("work that no thread can be had for is not kept, and leaves its turn to others") {
    val threads = ArrayBuffer.empty[Runnable]
    var failure = Option.empty[Throwable]
    val waiting = new NeediestFirst(task => failure.fold(threads += task)(throw _))
    val done = ArrayBuffer.empty[String]
    waiting.submit(() => 1.0)(() => done += "first")
    for (thrown <- Seq(new RejectedExecutionException, new OutOfMemoryError)) {
      failure = Some(thrown)
      assert(intercept[Throwable](waiting.submit(() => 5.0)(() => done += "never")) eq thrown)
    }
    failure = None
    waiting.submit(() => 0.5)(() => done += "last")
    threads.foreach(_.run())
    assert(done == Seq("first", "last"))
  }
}
