package io.bucketstate.spark.plan

import java.util.stream.{Stream => JStream}

import org.apache.spark.sql.SparkSession

/**
 * Tells who runs `transformWithState` without the extension how to turn it on.
 *
 * Spark's own refusal names the providers that it accepts, and nobody is asked before it. But first each
 * stateful operator asks its provider on the driver for its metrics.
 */
private[bucketstate] object ExtensionCheck {

  /** Throws if a streaming `transformWithState` asks, in a session that has no rule for it. */
  def verify(): Unit =
    if (SparkSession.getActiveSession.exists(lacksRule) && Stack.walk(asked(_))) {
      throw PlanErrors.extensionMissing()
    }

  private def lacksRule(session: SparkSession): Boolean = session match {
    case classic: org.apache.spark.sql.classic.SparkSession =>
      !classic.sessionState.columnarRules.exists(_.isInstanceOf[TransformWithStateRule])
    case _ => false
  }

  /** What user code does with a batch in foreachBatch is none of the query's own plans. */
  private def asked(frames: JStream[StackWalker.StackFrame]): Boolean = {
    val names = frames.toList
    names.stream.anyMatch(_.getClassName.contains(".TransformWithState")) &&
    names.stream.anyMatch(_.getClassName.endsWith(".MicroBatchExecution")) &&
    names.stream.noneMatch(_.getMethodName.startsWith("callBatchWriter"))
  }

  private val Stack = StackWalker.getInstance()
}
