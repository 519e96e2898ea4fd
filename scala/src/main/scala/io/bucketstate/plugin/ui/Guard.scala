package io.bucketstate.plugin.ui

import java.util.concurrent.atomic.AtomicBoolean

import scala.util.control.NonFatal

import org.slf4j.Logger

/**
 * A guard runs parts whose failure must not reach Spark, which has called: one that is fatal to Scala ends the thread that gives
 * events to listeners, and the application with it. The first failure is logged. Thread-safe.
 *
 * @param warning what does not work then
 */
private[plugin] final class Guard(log: Logger, warning: String) {
  private[this] val isSaid = new AtomicBoolean

  def apply(part: => Unit): Unit = orElse(())(part)

  /** What a part gives, or else another value where it fails. */
  def orElse[A](other: => A)(part: => A): A =
    try part
    catch {
      case Guard.Survived(failure) =>
        if (!isSaid.getAndSet(true)) log.warn(warning, failure)
        other
    }
}

private[plugin] object Guard {

  /** A failure that the process survives. A jar for another Spark ends in linkage errors, which are no less harmless. */
  object Survived {
    def unapply(failure: Throwable): Option[Throwable] = failure match {
      case NonFatal(_) | _: LinkageError => Some(failure)
      case _                             => None
    }
  }
}
