package io.bucketstate.plugin

import org.slf4j.LoggerFactory

import io.bucketstate.plugin.ui.Guard

/** Runs what must not fail the application: a failure is logged once, with what does not work for it. */
private[plugin] object Harmless {
  private val log = LoggerFactory.getLogger("io.bucketstate.BucketstatePlugin")

  def apply(part: String)(run: => Unit): Unit =
    try run
    catch {
      case Guard.Survived(e) =>
        log.error(
          s"Of bucketstate's plugin $part does not work: ${e.getMessage} Queries run without it.",
          e
        )
    }
}
