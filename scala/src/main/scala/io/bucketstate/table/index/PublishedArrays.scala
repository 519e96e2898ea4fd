package io.bucketstate.table.index

import java.lang.invoke.VarHandle

/**
 * Numbers that one thread writes and any may read. What was written before `setRelease` is seen by whoever reads that with
 * `getAcquire`.
 *
 * As `AtomicIntegerArray`, but with plain reads and writes between fences: in a JVM that has just started, before
 * the optimising compiler comes to them, those of that class go through method handles and take many times as long.
 */
private[table] class PublishedInts(val length: Int) {
  private[this] val values = new Array[Int](length)

  final def getPlain(i: Int): Int = values(i)

  final def getAcquire(i: Int): Int = {
    val value = values(i)
    VarHandle.acquireFence()
    value
  }

  final def setPlain(i: Int, value: Int): Unit = values(i) = value

  final def setRelease(i: Int, value: Int): Unit = {
    VarHandle.releaseFence()
    values(i) = value
  }
}

/** References that one thread writes and any may read, null at first, published as [[PublishedInts]] are. */
private[table] final class PublishedRefs[A <: AnyRef](val length: Int) {
  private[this] val values = new Array[AnyRef](length)

  def getPlain(i: Int): A = values(i).asInstanceOf[A]

  def getAcquire(i: Int): A = {
    val value = values(i)
    VarHandle.acquireFence()
    value.asInstanceOf[A]
  }

  def setPlain(i: Int, value: A): Unit = values(i) = value

  def setRelease(i: Int, value: A): Unit = {
    VarHandle.releaseFence()
    values(i) = value
  }
}
