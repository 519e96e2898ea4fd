package io.bucketstate.move.job

/** An iterator that is told once when nothing is left: what sums up its elements gives the sum then. For one thread. */
private[job] abstract class EndsOnce[A] extends Iterator[A] {
  private[this] var isDone = false

  /** Not asked any more after it has said no. */
  protected def hasMore: Boolean

  protected def ended(): Unit

  final override def hasNext: Boolean = !isDone && (hasMore || {
    isDone = true
    ended()
    false
  })
}
