package io.bucketstate.spark.many

import java.util.concurrent.TimeUnit.NANOSECONDS

import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.encoders.ExpressionEncoder
import org.apache.spark.sql.catalyst.expressions.{Attribute, UnsafeProjection}
import org.apache.spark.sql.catalyst.types.DataTypeUtils
import org.apache.spark.sql.execution.python.streaming.TransformWithStateInPySparkExec
import org.apache.spark.sql.execution.python.{ManyKeysRunner, ManyKeysVariables}
import org.apache.spark.sql.execution.streaming.operators.stateful.transformwithstate.statefulprocessor.{
  ImplicitGroupingKeyTracker,
  StatefulProcessorHandleImpl,
  StatefulProcessorHandleState
}
import org.apache.spark.sql.execution.streaming.operators.stateful.{
  StatefulOperatorCustomMetric,
  StatefulOperatorCustomSumMetric
}
import org.apache.spark.sql.execution.streaming.state.StateStore
import org.apache.spark.sql.execution.{GroupedIterator, SparkPlan}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.streaming.TimeMode
import org.apache.spark.sql.types.{StructField, StructType}

/**
 * `transformWithState` of Python, whose function gets many keys in a call where it can, with the values of their
 * variables and the timers that have fired, and hands back what becomes of them; see [[ManyKeysExec]].
 *
 * Spark's own way asks a server for each value of each key. What is stored is written by Spark's own variables here, too,
 * so that a checkpoint goes to and fro between both ways. Schemas and metadata are Spark's: its own operator has
 * asked the function for them on the driver before this one takes its place. In any doubt the function runs on
 * Spark's way.
 */
private[bucketstate] trait ManyKeysTransform extends TransformWithStateInPySparkExec {

  @transient private lazy val many: Option[ManyVariables] = ManyVariables.of(this)

  /** What `explain` shows. */
  override def nodeName: String =
    if (many.isDefined) "ManyKeysTransformWithState" else super.nodeName

  override def customStatefulOperatorMetrics: Seq[StatefulOperatorCustomMetric] =
    super.customStatefulOperatorMetrics ++ many.map { _ =>
      StatefulOperatorCustomSumMetric(ManyKeysExec.Metric, ManyKeysExec.MetricText)
    }

  override protected def doExecute(): RDD[InternalRow] = many.fold(super.doExecute()) { call =>
    val names = call.parts.map(_.name)
    val runner = ManyKeysRunner.of(
      call.function,
      Protocol.variablesInput(nullable(groupingAttributes), names, nullable(ofRows)),
      conf,
      session,
      pythonMetrics
    )
    val limits = Limits.of(conf)
    val parts = call.parts
    // Made here, and not by a task.
    metrics
    ManyKeysVariables.withStores(child.execute(), getStateInfo, session) { (store, rows) =>
      processed(store, rows, parts, runner, limits)
    }
  }

  /** The columns of the rows; those of the key stand before them once more. */
  private def ofRows: Seq[Attribute] = child.output.drop(groupingAttributes.length)

  private def nullable(attributes: Seq[Attribute]): StructType =
    DataTypeUtils.fromAttributes(attributes.map(_.withNullability(true)))

  private def processed(
      store: StateStore,
      rows: Iterator[InternalRow],
      parts: Seq[PartVariable],
      runner: ManyKeysRunner,
      limits: Limits
  ): Iterator[InternalRow] = {
    val begun = ManyKeysVariables.nanos()
    val handle = new StatefulProcessorHandleImpl(
      store,
      getStateInfo.queryRunId,
      ExpressionEncoder(keySchema).resolveAndBind().asInstanceOf[ExpressionEncoder[Any]],
      timeMode,
      isStreaming,
      batchTimestampMs,
      prevBatchTimestampMs,
      metrics
    )
    val states = new VariableStates(handle, keySchema, parts)
    handle.setHandleState(StatefulProcessorHandleState.INITIALIZED)
    val numKeys = longMetric(ManyKeysExec.Metric)
    val numOutputRows = longMetric("numOutputRows")
    val emitted = UnsafeProjection.create(output, output)
    val calling = new Calling(
      runner,
      Clocks(batchTimestampMs.getOrElse(Protocol.NoTime), watermark.getOrElse(0L)),
      VariableStates.fieldsOf(parts),
      limits,
      Protocol.variablesAnswer(nullable(output), parts.map(_.name)),
      () => numKeys += 1,
      row => {
        numOutputRows += 1
        emitted(row)
      }
    )
    val groups = GroupedIterator(timely(rows), groupingAttributes, child.output)
    val row = UnsafeProjection.create(ofRows, child.output)
    val called = calling.answered(groups.map { case (key, rows) =>
      states.called(key, rows.map(row))
    })
    // Each is asked for when what stands before it has been taken, and settled.
    def fired = reached.fold(Iterator.empty[InternalRow]) { until =>
      handle.setHandleState(StatefulProcessorHandleState.DATA_PROCESSED)
      calling.answered(states.fired(until))
    }
    def ended = {
      ImplicitGroupingKeyTracker.removeImplicitKey()
      handle.setHandleState(StatefulProcessorHandleState.CLOSED)
      longMetric("allUpdatesTimeMs") += NANOSECONDS.toMillis(ManyKeysVariables.nanos() - begun)
      longMetric("commitTimeMs") += timeTakenMs {
        handle.doTtlCleanup()
        store.commit()
        ()
      }
      setStoreMetrics(store)
      setOperatorMetrics()
      Iterator.empty[InternalRow]
    }
    called ++ fired ++ ended
  }

  /** The key's type, in the words that the schema files have. */
  private def keySchema: StructType =
    StructType(groupingAttributes.map(key => StructField(key.name, key.dataType, key.nullable)))

  private def watermark: Option[Long] = eventTimeWatermarkForEviction

  /** Up to when timers have fired; None in a query without a clock. */
  private def reached: Option[Long] = timeMode match {
    case mode if mode == TimeMode.ProcessingTime => batchTimestampMs
    case mode if mode == TimeMode.EventTime      => Some(watermark.getOrElse(Protocol.NoTime))
    case _                                       => None
  }

  private def timely(rows: Iterator[InternalRow]): Iterator[InternalRow] =
    watermarkPredicateForDataForLateEvents match {
      case Some(late) if timeMode == TimeMode.EventTime =>
        applyRemovingRowsOlderThanWatermark(rows, late)
      case _ => rows
    }
}

private[bucketstate] object ManyKeysTransform {

  /**
   * Throws `InvalidException` where a function for many keys runs one key at a time on Spark's own way, and that would put
   * out other rows than the function does: see [[OutputSlices]]. The Python package refuses what it can tell before a query
   * starts, which the provider of its checkpoint is not part of.
   *
   * @param plan with this project's operators in their places
   */
  def requireOwnRows(plan: SparkPlan, conf: SQLConf): Unit =
    OutputSlices.refusal(conf, "transformWithState").foreach { refusal =>
      if (plan.exists(runsAlone)) throw refusal
    }

  private def runsAlone(node: SparkPlan): Boolean = node match {
    case ours: ManyKeysTransform if ours.many.isDefined => false
    case found: TransformWithStateInPySparkExec         => ManyVariables.isMarked(found)
    case _                                              => false
  }
}
