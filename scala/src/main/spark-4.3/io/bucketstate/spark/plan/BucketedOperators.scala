package io.bucketstate.spark.plan

import org.apache.spark.sql.catalyst.encoders.ExpressionEncoder
import org.apache.spark.sql.catalyst.expressions.{Attribute, Expression}
import org.apache.spark.sql.catalyst.plans.logical.TransformWithStateInPySpark.UserFacingDataType
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.python.streaming.TransformWithStateInPySparkExec
import org.apache.spark.sql.execution.streaming.operators.stateful.StatefulOperatorStateInfo
import org.apache.spark.sql.execution.streaming.operators.stateful.transformwithstate.TransformWithStateExec
import org.apache.spark.sql.streaming.{OutputMode, StatefulProcessor, TimeMode}
import org.apache.spark.sql.types.StructType

import io.bucketstate.spark.many.ManyKeysTransform

/**
 * Spark's operators, made to accept this provider. Each has the constructor of its parent, because Spark copies
 * operators by the arguments of theirs, and these differ from one minor version to the next.
 */
private[plan] object BucketedOperators {

  def of(from: TransformWithStateExec): TransformWithStateExec =
    new BucketedTransformWithStateExec(
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
      from.isRealTimeMode,
      from.initialStateGroupingAttrs,
      from.initialStateDataAttrs,
      from.initialStateDeserializer,
      from.initialState
    )

  def of(from: TransformWithStateInPySparkExec): TransformWithStateInPySparkExec =
    new BucketedTransformWithStateInPySparkExec(
      from.functionExpr,
      from.groupingAttributes,
      from.outputAttrs,
      from.outputMode,
      from.timeMode,
      from.stateInfo,
      from.batchTimestampMs,
      from.prevBatchTimestampMs,
      from.eventTimeWatermarkForLateEvents,
      from.eventTimeWatermarkForEviction,
      from.userFacingDataType,
      from.child,
      from.isStreaming,
      from.hasInitialState,
      from.initialState,
      from.initialStateGroupingAttrs,
      from.initialStateSchema
    )
}

/** `transformWithState` of Scala and Java. */
private[plan] final class BucketedTransformWithStateExec(
    keyDeserializer: Expression,
    valueDeserializer: Expression,
    groupingAttributes: Seq[Attribute],
    dataAttributes: Seq[Attribute],
    statefulProcessor: StatefulProcessor[Any, Any, Any],
    timeMode: TimeMode,
    outputMode: OutputMode,
    keyEncoder: ExpressionEncoder[Any],
    outputObjAttr: Attribute,
    stateInfo: Option[StatefulOperatorStateInfo],
    batchTimestampMs: Option[Long],
    prevBatchTimestampMs: Option[Long],
    eventTimeWatermarkForLateEvents: Option[Long],
    eventTimeWatermarkForEviction: Option[Long],
    child: SparkPlan,
    isStreaming: Boolean,
    hasInitialState: Boolean,
    isRealTimeMode: Boolean,
    initialStateGroupingAttrs: Seq[Attribute],
    initialStateDataAttrs: Seq[Attribute],
    initialStateDeserializer: Expression,
    initialState: SparkPlan
) extends TransformWithStateExec(
      keyDeserializer,
      valueDeserializer,
      groupingAttributes,
      dataAttributes,
      statefulProcessor,
      timeMode,
      outputMode,
      keyEncoder,
      outputObjAttr,
      stateInfo,
      batchTimestampMs,
      prevBatchTimestampMs,
      eventTimeWatermarkForLateEvents,
      eventTimeWatermarkForEviction,
      child,
      isStreaming,
      hasInitialState,
      isRealTimeMode,
      initialStateGroupingAttrs,
      initialStateDataAttrs,
      initialStateDeserializer,
      initialState
    )
    with BucketedOperator {

  override protected def withNewChildrenInternal(
      newLeft: SparkPlan,
      newRight: SparkPlan
  ): TransformWithStateExec =
    BucketedOperators.of(super.withNewChildrenInternal(newLeft, newRight))
}

/** `transformWithState` and `transformWithStateInPandas` of Python. */
private[plan] final class BucketedTransformWithStateInPySparkExec(
    functionExpr: Expression,
    groupingAttributes: Seq[Attribute],
    outputAttrs: Seq[Attribute],
    outputMode: OutputMode,
    timeMode: TimeMode,
    stateInfo: Option[StatefulOperatorStateInfo],
    batchTimestampMs: Option[Long],
    prevBatchTimestampMs: Option[Long],
    eventTimeWatermarkForLateEvents: Option[Long],
    eventTimeWatermarkForEviction: Option[Long],
    userFacingDataType: UserFacingDataType.Value,
    child: SparkPlan,
    isStreaming: Boolean,
    hasInitialState: Boolean,
    initialState: SparkPlan,
    initialStateGroupingAttrs: Seq[Attribute],
    initialStateSchema: StructType
) extends TransformWithStateInPySparkExec(
      functionExpr,
      groupingAttributes,
      outputAttrs,
      outputMode,
      timeMode,
      stateInfo,
      batchTimestampMs,
      prevBatchTimestampMs,
      eventTimeWatermarkForLateEvents,
      eventTimeWatermarkForEviction,
      userFacingDataType,
      child,
      isStreaming,
      hasInitialState,
      initialState,
      initialStateGroupingAttrs,
      initialStateSchema
    )
    with BucketedOperator
    with ManyKeysTransform {

  override protected def withNewChildrenInternal(
      newLeft: SparkPlan,
      newRight: SparkPlan
  ): TransformWithStateInPySparkExec =
    BucketedOperators.of(super.withNewChildrenInternal(newLeft, newRight))
}
