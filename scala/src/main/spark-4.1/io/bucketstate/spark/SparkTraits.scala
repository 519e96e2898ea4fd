package io.bucketstate.spark

import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.execution.streaming.state._

/** Spark's traits of a provider, with what later ones have besides. */
private[bucketstate] trait SparkProvider extends StateStoreProvider with SupportsFineGrainedReplay {
  def getStore(
      version: Long,
      stateStoreCkptId: Option[String],
      forceSnapshotOnCommit: Boolean,
      loadEmpty: Boolean
  ): StateStore

  def upgradeReadStoreToWriteStore(
      readStore: ReadStateStore,
      version: Long,
      uniqueId: Option[String],
      forceSnapshotOnCommit: Boolean
  ): StateStore

  override final def getStore(version: Long, stateStoreCkptId: Option[String]): StateStore =
    getStore(version, stateStoreCkptId, forceSnapshotOnCommit = false, loadEmpty = false)

  override final def upgradeReadStoreToWriteStore(
      readStore: ReadStateStore,
      version: Long,
      uniqueId: Option[String]
  ): StateStore =
    upgradeReadStoreToWriteStore(readStore, version, uniqueId, forceSnapshotOnCommit = false)
}

/** Spark's trait of a store that is written, with what later ones have besides. */
private[spark] trait SparkWriteStore extends StateStore {
  def deleteRange(beginKey: UnsafeRow, endKey: UnsafeRow, colFamilyName: String): Unit
}
