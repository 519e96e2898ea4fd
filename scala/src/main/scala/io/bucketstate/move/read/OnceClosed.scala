package io.bucketstate.move.read

/** What must be closed once, whoever closes it first. For one thread. */
private[move] final class OnceClosed(last: () => Unit) {
  private[this] var isClosed = false

  /** Does it, or closes what was opened before. */
  def orClosed[A](open: => A): A =
    try open
    catch {
      case failure: Throwable =>
        close(())
        throw failure
    }

  def close(first: => Unit): Unit = if (!isClosed) {
    isClosed = true
    try first
    finally last()
  }
}
