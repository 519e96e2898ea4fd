package io.bucketstate.spark.many

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{
  Attribute,
  Expression,
  PythonUDF,
  UnsafeProjection,
  UnsafeRow
}
import org.apache.spark.sql.catalyst.plans.logical.{EventTimeTimeout, ProcessingTimeTimeout}
import org.apache.spark.sql.catalyst.types.DataTypeUtils
import org.apache.spark.sql.execution.python.ManyKeysRunner
import org.apache.spark.sql.execution.python.streaming.FlatMapGroupsInPandasWithStateExec
import org.apache.spark.sql.execution.streaming.operators.stateful.flatmapgroupswithstate.FlatMapGroupsWithStateExecHelper.StateData
import org.apache.spark.sql.execution.streaming.operators.stateful.{
  StatefulOperatorCustomMetric,
  StatefulOperatorCustomSumMetric,
  StatefulOperatorStateInfo
}
import org.apache.spark.sql.execution.streaming.state.StateStore
import org.apache.spark.sql.execution.{GroupedIterator, SparkPlan}
import org.apache.spark.sql.streaming.{GroupStateTimeout, OutputMode}
import org.apache.spark.sql.types.StructType

/**
 * Spark's operator of `applyInPandasWithState`, whose function gets many keys in a call, with their states and rows as
 * columns of Arrow, and hands back what becomes of them.
 *
 * Spark's own operator sends one group after the other through pandas, and states as JSON and pickles: hundreds of
 * microseconds of each key. Everything but the way to the function is Spark's: distribution, order, late rows,
 * timeouts, schema, metadata, commit, and the stored rows to the byte, so that a checkpoint goes to and fro. The way
 * itself is that of `mapInArrow`, in the task's own thread. DataFusion's `GroupsAccumulator` is the model of the
 * interface.
 *
 * It has the constructor of its parent, because Spark copies operators by the arguments of theirs.
 */
private[bucketstate] final class ManyKeysExec(
    functionExpr: Expression,
    groupingAttributes: Seq[Attribute],
    outAttributes: Seq[Attribute],
    stateType: StructType,
    stateInfo: Option[StatefulOperatorStateInfo],
    stateFormatVersion: Int,
    outputMode: OutputMode,
    timeoutConf: GroupStateTimeout,
    batchTimestampMs: Option[Long],
    eventTimeWatermarkForLateEvents: Option[Long],
    eventTimeWatermarkForEviction: Option[Long],
    skipEmittingInitialStateKeys: Boolean,
    child: SparkPlan
) extends FlatMapGroupsInPandasWithStateExec(
      functionExpr,
      groupingAttributes,
      outAttributes,
      stateType,
      stateInfo,
      stateFormatVersion,
      outputMode,
      timeoutConf,
      batchTimestampMs,
      eventTimeWatermarkForLateEvents,
      eventTimeWatermarkForEviction,
      skipEmittingInitialStateKeys,
      child
    ) {
  import ManyKeysExec._

  /** Else Spark would take it for no change, and keep its own. */
  override def canEqual(other: Any): Boolean = other.isInstanceOf[ManyKeysExec]

  override def equals(other: Any): Boolean = canEqual(other) && super.equals(other)

  override def hashCode(): Int = super.hashCode()

  override protected def withNewChildInternal(
      newChild: SparkPlan
  ): FlatMapGroupsInPandasWithStateExec = of(super.withNewChildInternal(newChild))

  override def customStatefulOperatorMetrics: Seq[StatefulOperatorCustomMetric] =
    super.customStatefulOperatorMetrics :+ StatefulOperatorCustomSumMetric(Metric, MetricText)

  private val limits = Limits.of(conf)

  private def nullable(attributes: Seq[Attribute]): StructType =
    DataTypeUtils.fromAttributes(attributes.map(_.withNullability(true)))

  private val function = functionExpr.asInstanceOf[PythonUDF]
  private val runner = ManyKeysRunner.of(
    function,
    Protocol.input(nullable(groupingAttributes), stateType, nullable(child.output)),
    conf,
    session,
    pythonMetrics
  )

  override def createInputProcessor(store: StateStore): InputProcessor = new InputProcessor(store) {
    private val numKeys = longMetric(Metric)
    private val stored = UnsafeProjection.create(stateManager.stateSchema)
    private val emitted = UnsafeProjection.create(outAttributes, outAttributes)
    private val calling = new Calling(
      runner,
      Clocks(
        batchTimestampMs.getOrElse(Protocol.NoTime),
        if (watermarkPresent) eventTimeWatermarkForEviction.getOrElse(0L) else Protocol.NoTime
      ),
      0,
      limits,
      Protocol.answer(nullable(outAttributes), stateType),
      () => numKeys += 1,
      row => {
        numOutputRows += 1
        emitted(row)
      }
    )

    override def processNewData(rows: Iterator[InternalRow]): Iterator[InternalRow] =
      calling.answered(GroupedIterator(rows, groupingAttributes, child.output).map {
        case (found, rows) =>
          val key = found.asInstanceOf[UnsafeRow]
          call(key, store.get(key), timedOut = false, rows)
      })

    override def processTimedOutState(): Iterator[InternalRow] = timeoutConf match {
      case ProcessingTimeTimeout => fired(batchTimestampMs.get)
      case EventTimeTimeout      => fired(eventTimeWatermarkForEviction.get)
      case _                     => Iterator.empty
    }

    /** The calls for timeouts before `threshold`. */
    private def fired(threshold: Long): Iterator[InternalRow] =
      calling.answered(store.iterator().flatMap { pair =>
        val at = pair.value.getLong(TimeoutOrdinal)
        if (at != Protocol.NoTime && at < threshold) {
          Iterator.single(call(pair.key, pair.value, timedOut = true, Iterator.empty))
        } else Iterator.empty
      })

    private def call(
        key: UnsafeRow,
        kept: UnsafeRow,
        timedOut: Boolean,
        rows: Iterator[InternalRow]
    ): Call = {
      val own = key.copy()
      val settling = settle(own, _, _)
      Call.of(own, kept, stateType.length, isTimeoutEnabled, timedOut, rows, settling)
    }

    private def settle(key: UnsafeRow, answer: Answer, line: Int): Unit =
      answer.action(line) match {
        case Protocol.Untouched =>
        case Protocol.Put       =>
          val state = answer.state(line)
          val row =
            if (isTimeoutEnabled) InternalRow(state, answer.timeout(line)) else InternalRow(state)
          store.put(key, stored(row))
          numUpdatedStateRows += 1
        case Protocol.Removed =>
          store.remove(key)
          numRemovedStateRows += 1
        case other => throw ManyKeysErrors.unknownAction(other)
      }

    override def processNewDataWithInitialState(
        rows: Iterator[InternalRow],
        initialState: Iterator[InternalRow],
        skipEmittingInitialStateKeys: Boolean
    ): Iterator[InternalRow] = throw ManyKeysErrors.notCalled("processNewDataWithInitialState")

    override protected def callFunctionAndUpdateState(
        stateData: StateData,
        rows: Iterator[InternalRow],
        hasTimedOut: Boolean
    ): Iterator[InternalRow] = throw ManyKeysErrors.notCalled("callFunctionAndUpdateState")
  }
}

private[bucketstate] object ManyKeysExec {

  /** How many keys of a batch went this way; a query on Spark's own operator has no such metric. */
  val Metric = "manyKeys"
  val MetricText = "keys that a Python function got many of in a call"

  /** The place of the timeout in a stored row of the operator's second format. */
  private val TimeoutOrdinal = 1

  /** The operator in the place of Spark's. */
  def of(from: FlatMapGroupsInPandasWithStateExec): ManyKeysExec = new ManyKeysExec(
    from.functionExpr,
    from.groupingAttributes,
    from.outAttributes,
    from.stateType,
    from.stateInfo,
    from.stateFormatVersion,
    from.outputMode,
    from.timeoutConf,
    from.batchTimestampMs,
    from.eventTimeWatermarkForLateEvents,
    from.eventTimeWatermarkForEviction,
    from.skipEmittingInitialStateKeys,
    from.child
  )
}
