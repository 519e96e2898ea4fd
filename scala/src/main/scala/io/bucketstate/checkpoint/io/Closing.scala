package io.bucketstate.checkpoint.io

private[bucketstate] object Closing {

  /** Closes all, also when some of that fails; throws the first failure. */
  def all(closeables: Seq[AutoCloseable]): Unit = {
    var first: Throwable = null
    closeables.foreach { one =>
      try one.close()
      catch {
        case failure: Throwable if first == null => first = failure
        case failure: Throwable                  => first.addSuppressed(failure)
      }
    }
    if (first != null) throw first
  }
}
