package io.bucketstate.sql

import org.apache.spark.sql.execution.streaming.state.StateStoreConf
import org.apache.spark.sql.types.StructType

import io.bucketstate.move.read.{SourceFamily, SourceStore}

/**
 * What is read: a column family of a store, at a batch. Immutable; goes to executors.
 *
 * @param root       of the checkpoint
 * @param isNewest   whether the batch is what was found to be the newest, and not one that was asked for
 * @param partitions in which keys lie
 * @param isPlaced   whether a key lies in the partition that follows from its hash
 * @param conf       settings of tasks that read it
 * @param columns    in their order, without what Spark shows to whoever asks for it
 */
private[sql] final case class StateRead(
    root: String,
    batch: Long,
    isNewest: Boolean,
    store: SourceStore,
    family: SourceFamily,
    partitions: Int,
    isPlaced: Boolean,
    conf: StateStoreConf,
    columns: Seq[StateColumn]
) {
  def version: Long = batch + 1

  def schema: StructType = StructType(columns.map(_.field))

  /** Columns by their names, also those that are shown to whoever asks for them. */
  val byName: Map[String, StateColumn] = (columns :+ StateColumn.Batch).map(c => c.name -> c).toMap

  /** What it is of, for people. */
  def name: String = {
    val what = if (family.isDefault) store.name else family.name
    val part = if (what == "default") "" else s", $what"
    s"batch $batch (version $version), operator ${store.operator} (${store.operatorName})$part"
  }
}
