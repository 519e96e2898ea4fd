package io.bucketstate

import org.apache.spark.sql.execution.streaming.operators.stateful.transformwithstate.TransformWithStateExec

/** What another extension may put in the place of Spark's operator. */
final class ForeignExec(from: TransformWithStateExec)
    extends TransformWithStateExec(
      from.keyDeserializer,
      from.valueDeserializer,
      from.groupingAttributes,
      from.dataAttributes,
      from.statefulProcessor,
      from.timeMode,
      from.outputMode,
      from.keyEncoder,
      from.outputObjAttr,
      from.stateInfo,
      from.batchTimestampMs,
      from.prevBatchTimestampMs,
      from.eventTimeWatermarkForLateEvents,
      from.eventTimeWatermarkForEviction,
      from.child,
      from.isStreaming,
      from.hasInitialState,
      from.initialStateGroupingAttrs,
      from.initialStateDataAttrs,
      from.initialStateDeserializer,
      from.initialState
    ) {
  override def canEqual(other: Any): Boolean = other.isInstanceOf[ForeignExec]
  override def equals(other: Any): Boolean = canEqual(other) && super.equals(other)
  override def hashCode(): Int = super.hashCode()
}
