package io.bucketstate.move.job

import java.io.IOException

import io.bucketstate.error.{BucketstateException, InvalidException, UnavailableException}

/** What a job of a move failed with. */
private[move] object JobFailure {

  /** In the project's own words where they are its, else as a failure of the move. */
  def told(failure: Throwable): Throwable = {
    val causes = causesOf(failure)
    causes.collectFirst { case own: BucketstateException => own }.orElse(ofRows(causes)).getOrElse {
      new UnavailableException(
        "The move",
        s"it failed: ${causes.last.toString.linesIterator.next()}",
        s"Nothing was published. ${roomFor(causes)}Run the same move again; the log of Spark has more about it.",
        failure
      )
    }
  }

  /** What all others were wrapped around. */
  def innermost(failure: Throwable): Throwable = causesOf(failure).last

  private def causesOf(failure: Throwable): Seq[Throwable] =
    Iterator.iterate(failure)(_.getCause).takeWhile(_ != null).toSeq

  private def roomFor(causes: Seq[Throwable]): String =
    if (causes.exists(_.isInstanceOf[IOException]))
      "Check that the target's file system and Spark's local disks (spark.local.dir) are writable and not full. "
    else ""

  private val FromPython = "org.apache.spark.api.python.PythonException"

  /** What was said of rows that Python makes, whose last line but for Spark's own code is the error's. */
  private def ofRows(causes: Seq[Throwable]): Option[Throwable] =
    causes.find(_.getClass.getName == FromPython).map { python =>
      val lines = python.getMessage.linesIterator.map(_.trim).filter(_.nonEmpty)
      val said = lines.filterNot(_.startsWith("SQLSTATE")).toSeq.last.replaceFirst("^[\\w.]+: ", "")
      new InvalidException(
        s"The rows that were given cannot be read: ${said.stripSuffix(".")}",
        "Nothing was published."
      )
    }
}
