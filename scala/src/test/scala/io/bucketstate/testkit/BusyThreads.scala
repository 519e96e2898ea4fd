package io.bucketstate.testkit

import java.util.concurrent.atomic.AtomicBoolean

/**
 * Holds the threads of a test up at random points: with more busy threads than processors the system
 * takes the processor away from each of them after any instruction, for milliseconds.
 */
object BusyThreads {
  private val Count = 3 * Runtime.getRuntime.availableProcessors

  def beside[A](body: => A): A = {
    val over = new AtomicBoolean
    val threads = Seq.fill(Count)(new Thread(() => while (!over.get) Thread.onSpinWait()))
    threads.foreach(_.setDaemon(true))
    threads.foreach(_.start())
    try body
    finally {
      over.set(true)
      threads.foreach(_.join())
    }
  }
}
