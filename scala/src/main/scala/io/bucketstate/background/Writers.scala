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

  /** The writers of all stores of this process, which is one executor. */
  val OfProcess: Writers = new Writers
}
