package io.bucketstate.plugin

import scala.util.control.NonFatal

import org.slf4j.LoggerFactory

/** Runs what must not fail the application: a failure is logged once, with what does not work for it. */
private[plugin] object Harmless {
  private val log = LoggerFactory.getLogger("io.bucketstate.BucketstatePlugin")

  def apply(part: String)(run: => Unit): Unit =
    try run
    catch {
      // A jar for another Spark ends in linkage errors, which are no less harmless.
      case e @ (NonFatal(_) | _: LinkageError) =>
        log.error(
          s"Of bucketstate's plugin $part does not work: ${e.getMessage} Queries run without it.",
          e
        )
    }
}
