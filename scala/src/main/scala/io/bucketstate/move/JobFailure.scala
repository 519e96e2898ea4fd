package io.bucketstate.move

import io.bucketstate.error.{BucketstateException, UnavailableException}

/** What a job of a move failed with. */
private[move] object JobFailure {

  /** In the project's own words where they are its, else as a failure of the move. */
  def told(failure: Throwable): Throwable = {
    val causes = Iterator.iterate(failure)(_.getCause).takeWhile(_ != null).toSeq
    causes.collectFirst { case own: BucketstateException => own }.getOrElse {
      new UnavailableException(
        "The move",
        s"it failed: ${causes.last.toString.linesIterator.next()}",
        "Nothing was published. Run the same move again; the log of Spark has more about it.",
        failure
      )
    }
  }
}
