package io.bucketstate.testkit

import io.bucketstate.memory.MemoryUser
import io.bucketstate.store.StoreMemory

/**
 * Something beside the stores of this process takes more memory than all of them may have: whatever can leave
 * memory leaves it with each batch, and nothing is loaded that need not be.
 */
object ShortMemory {

  def during[A](body: => A): A = {
    val accounts = Seq(StoreMemory.Tracker, StoreMemory.HotTracker)
      .map(_.register(Ballast, Long.MaxValue, "a test"))
    accounts.foreach(_.tell())
    try body
    finally accounts.foreach(_.close())
  }

  /** During it if it is wanted. */
  def when[A](isShort: Boolean)(body: => A): A = if (isShort) during(body) else body

  private object Ballast extends MemoryUser {
    override def bytes: Long = Long.MaxValue / 4
    override def shrink(bytes: Long): Unit = ()
  }
}
