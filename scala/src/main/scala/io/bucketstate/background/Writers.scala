package io.bucketstate.background

import java.util.concurrent.atomic.AtomicInteger

/** Knows whether tasks are writing to stores. Thread-safe. */
private[bucketstate] final class Writers {
  private[this] val count = new AtomicInteger

  /** A task has got a store for writing; each call is followed by one of `ended`. */
  def began(): Unit = {
    count.incrementAndGet()
    ()
  }

  def ended(): Unit = {
    count.decrementAndGet()
    ()
  }

  def areActive: Boolean = count.get > 0
}

private[bucketstate] object Writers {

  /** Of this process, which is one executor: those of all stores. */
  val OfProcess: Writers = new Writers
}
