package io.bucketstate.spark.plan

import scala.util.control.NonFatal

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, UnresolvedDataSource}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.datasources.v2.state.StateSourceOptions
import org.apache.spark.sql.execution.streaming.runtime.StreamingQueryCheckpointMetadata
import org.apache.spark.sql.internal.SQLConf

/**
 * Refuses Spark's offline repartition of a checkpoint of this provider, and leaves the checkpoint as it was.
 *
 * Spark plans a batch for it in the offset log first, with `enforceExactlyOnceSink=false` commits batches that failed,
 * and only then refuses every provider but its own, when it resolves its source of the old state. After that
 * the query does not start any more. Nothing of a session is asked before it writes; this rule sees the source
 * just before Spark does, and takes both back. Whoever else wrote them: a batch that was planned with another
 * number of partitions for this provider can neither be finished nor be run.
 *
 * Changes no plan. Thread-safe.
 *
 * @param provider class name of the provider, as Spark records it
 */
private[bucketstate] final class RepartitionRule(session: SparkSession, provider: String)
    extends Rule[LogicalPlan] {
  import RepartitionRule._

  override val ruleName: String = classOf[RepartitionRule].getName

  override def apply(plan: LogicalPlan): LogicalPlan = {
    plan match {
      case source: UnresolvedDataSource if isOfRepartition(source) =>
        val committed = source.options(StateSourceOptions.BATCH_ID).toLong
        refuse(source.options(StateSourceOptions.PATH), committed)
      case _ =>
    }
    plan
  }

  /** @param committed the last batch that was committed before the repartition began */
  private def refuse(checkpoint: String, committed: Long): Unit = {
    val logs = new StreamingQueryCheckpointMetadata(session, checkpoint)
    for (planned <- logs.offsetLog.getLatestBatchId() if isUnfinished(logs, planned)) {
      val kept = lastKept(logs, planned).fold(committed)(math.min(_, committed))
      val skipped = logs.commitLog.listBatchesOnDisk.filter(_ > kept).sorted.toSeq
      val left = s"offsets/$planned" +: skipped.map(batch => s"commits/$batch")
      try {
        // The offsets last: they are what shows that the others are of a repartition.
        logs.commitLog.purgeAfter(kept)
        logs.offsetLog.purgeAfter(planned - 1L)
      } catch {
        case NonFatal(failure) => throw PlanErrors.repartitionLeft(checkpoint, left, failure)
      }
      throw PlanErrors.repartitionRefused(checkpoint, left)
    }
  }

  /**
   * The batch whose state was to be repartitioned: that of which the planned one is a copy, with its time. The
   * commits after it are those of skipped batches, also where an earlier try wrote them.
   */
  private def lastKept(logs: StreamingQueryCheckpointMetadata, planned: Long): Option[Long] = {
    def moment(batch: Long) =
      logs.offsetLog
        .get(batch)
        .flatMap(_.metadataOpt)
        .map(m => (m.batchTimestampMs, m.batchWatermarkMs))
    val before = logs.offsetLog.listBatchesOnDisk.filter(_ < planned).sorted.reverse
    before.find(moment(_) == moment(planned))
  }

  /** Whether a repartition was begun and not ended: no other batch has another number of partitions than the one before. */
  private def isUnfinished(logs: StreamingQueryCheckpointMetadata, planned: Long): Boolean = {
    def recorded(batch: Long, setting: String): Option[String] =
      logs.offsetLog.get(batch).flatMap(_.metadataOpt).flatMap(_.conf.get(setting))
    def partitions(batch: Long) = recorded(batch, SQLConf.SHUFFLE_PARTITIONS.key)
    recorded(planned, SQLConf.STATE_STORE_PROVIDER_CLASS.key).contains(provider) &&
    logs.commitLog.get(planned).isEmpty &&
    partitions(planned).exists(number => partitions(planned - 1L).exists(_ != number))
  }
}

private object RepartitionRule {

  /** Most plans are none of it by their kind, and cost no look at the stack. */
  private def isOfRepartition(source: UnresolvedDataSource): Boolean =
    source.format == "statestore" &&
      source.options
        .get(StateSourceOptions.INTERNAL_ONLY_READ_ALL_COLUMN_FAMILIES)
        .contains("true") &&
      Stack.walk[java.lang.Boolean](_.anyMatch(isRunner(_)))

  private def isRunner(frame: StackWalker.StackFrame): Boolean =
    frame.getClassName.endsWith(".OfflineStateRepartitionRunner")

  private val Stack = StackWalker.getInstance()
}
