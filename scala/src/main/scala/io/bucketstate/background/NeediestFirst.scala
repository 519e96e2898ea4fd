package io.bucketstate.background

import java.util.concurrent.Executor

import scala.collection.mutable.ArrayBuffer

/**
 * Work that waits for a thread, and is begun in the order of need: what is needed most when a thread is
 * free, not when it was submitted. Thread-safe.
 */
private[bucketstate] final class NeediestFirst(threads: Executor) {
  import NeediestFirst._

  private[this] val waiting = ArrayBuffer.empty[Waiting]

  /**
   * Throws what the executor throws; then the work is not begun and not kept.
   *
   * @param need asked while the work waits; must not block
   */
  def submit(need: () => Double)(work: () => Unit): Unit = synchronized {
    val one = new Waiting(need, work)
    waiting += one
    // Under the lock, so that no other thread has taken what has to be taken back.
    try threads.execute(() => next().foreach(_.work()))
    catch {
      case failure: Throwable =>
        waiting -= one
        throw failure
    }
  }

  /** Work that no thread has begun. */
  def length: Int = synchronized(waiting.length)

  private def next(): Option[Waiting] = synchronized {
    // Each need is asked for once: it changes meanwhile.
    val neediest = waiting.iterator.map(one => one -> one.need()).maxByOption(_._2).map(_._1)
    neediest.foreach(waiting -= _)
    neediest
  }
}

private object NeediestFirst {
  final class Waiting(val need: () => Double, val work: () => Unit)
}
