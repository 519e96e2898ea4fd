package io.bucketstate.background

/** Waits of whoever closes something: an interrupt does not end them, and is there again when they are over. */
private[bucketstate] object Uninterrupted {

  /**
   * Waits on a monitor that the caller holds.
   *
   * @param isOver asked whenever the monitor is told of something, and now and then
   * @return false if it was not over in time
   */
  def await(monitor: AnyRef, limitMs: Long, ticker: Ticker)(isOver: => Boolean): Boolean = {
    val start = ticker.nanos
    var wasInterrupted = false
    while (!isOver && ticker.millisSince(start) < limitMs)
      if (!wait(monitor)) wasInterrupted = true
    if (wasInterrupted) Thread.currentThread().interrupt()
    isOver
  }

  /** False if it was interrupted. */
  private def wait(monitor: AnyRef): Boolean =
    try {
      monitor.wait(Patience.PollMs)
      true
    } catch { case _: InterruptedException => false }
}
