package io.bucketstate.move

import org.apache.spark.SPARK_VERSION
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.plans.logical.{
  Deduplicate,
  DeduplicateWithinWatermark,
  LogicalPlan
}
import org.apache.spark.sql.catalyst.streaming.WriteToStream

import io.bucketstate.error.InvalidException
import io.bucketstate.move.log.{QueryFolder, QueryLogs}
import io.bucketstate.move.read.SourceQuery
import io.bucketstate.spark.BuiltForSpark

/**
 * Refuses to start a query whose `dropDuplicates` has the columns of its key in another order than its checkpoint: it would
 * find no key, and let every row pass once more. Spark 4.3 and newer order them as they are given, older ones otherwise, and
 * those hold the types of a key against the checkpoint and not its names.
 *
 * It is shown every plan, as [[RewriteOnStart]] is, and stands before that. Thread-safe.
 *
 * @param provider class name of the provider, as in the setting
 */
private[bucketstate] final class KeyOrderOnStart(session: SparkSession, provider: String)
    extends (LogicalPlan => Unit) {
  import KeyOrderOnStart._

  override def apply(plan: LogicalPlan): Unit = plan match {
    case write: WriteToStream if !KeyOrder.IsAsGiven && StartedQuery.isOf(session, provider) =>
      val keys = keysOf(write.inputQuery)
      if (keys.exists(_.size >= Reordered)) {
        // What is asked next is private to Spark, and another minor version may not have it.
        BuiltForSpark.require(SPARK_VERSION)
        StartedQuery.inFolder(session, write)(requireOrder(_, keys))
      }
    case _ => ()
  }

  private def requireOrder(folder: QueryFolder, keys: Seq[Seq[String]]): Unit = {
    val logs = new QueryLogs(folder)
    for {
      last <- logs.commits.lastOption.filter(logs.offsets.contains).map(logs.offset).toSeq
      if last.ordersKeysAsGiven && StartedQuery.isOwn(last)
      id <- logs.operators
      if Deduplications(logs.operator(id, last.batch).name)
      operator <- new SourceQuery(session, folder, last.batch, None, only = Some(id)).operators
      there = operator.stores.head.families.head.keySchema.fieldNames.toSeq
      if !keys.contains(there)
      here <- keys.find(_.sorted == there.sorted)
    }
      throw new InvalidException(
        s"The query of ${folder.location} began with Spark 4.3 or newer, and the key of its dropDuplicates (operator $id) is " +
          s"(${there.mkString(", ")}). Spark $SPARK_VERSION makes it (${here.mkString(", ")}), and every row would pass once more",
        "Start the query with Spark 4.3 or newer, or with a new checkpoint."
      )
  }
}

private object KeyOrderOnStart {

  /** From so many columns on the order is another one. */
  private final val Reordered = 5

  private val Deduplications = Set("dedupe", "dedupeWithinWatermark")

  /** The names of the key's columns of each deduplication. */
  private def keysOf(plan: LogicalPlan): Seq[Seq[String]] = plan.collect {
    case all: Deduplicate                   => all.keys.map(_.name)
    case recent: DeduplicateWithinWatermark => recent.keys.map(_.name)
  }
}
