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

  def replayStateFromSnapshot(
      snapshotVersion: Long,
      endVersion: Long,
      readOnly: Boolean,
      snapshotVersionStateStoreCkptId: Option[String],
      endVersionStateStoreCkptId: Option[String]
  ): StateStore

  def replayReadStateFromSnapshot(
      snapshotVersion: Long,
      endVersion: Long,
      snapshotVersionStateStoreCkptId: Option[String],
      endVersionStateStoreCkptId: Option[String]
  ): ReadStateStore

  def getStateStoreChangeDataReader(
      startVersion: Long,
      endVersion: Long,
      colFamilyNameOpt: Option[String],
      endVersionStateStoreCkptId: Option[String]
  ): ChangeRecords

  override final def getStore(version: Long, stateStoreCkptId: Option[String]): StateStore =
    getStore(version, stateStoreCkptId, forceSnapshotOnCommit = false, loadEmpty = false)

  override final def replayStateFromSnapshot(snapshotVersion: Long, endVersion: Long): StateStore =
    replayStateFromSnapshot(snapshotVersion, endVersion, readOnly = false, None, None)

  override final def replayReadStateFromSnapshot(
      snapshotVersion: Long,
      endVersion: Long
  ): ReadStateStore = replayReadStateFromSnapshot(snapshotVersion, endVersion, None, None)

  override final def getStateStoreChangeDataReader(
      startVersion: Long,
      endVersion: Long,
      colFamilyNameOpt: Option[String]
  ): ChangeRecords =
    getStateStoreChangeDataReader(startVersion, endVersion, colFamilyNameOpt, None)
}

/** Spark's trait of a store that is written, with what later ones have besides. */
private[spark] trait SparkWriteStore extends StateStore {
  def putList(key: UnsafeRow, values: Array[UnsafeRow], colFamilyName: String): Unit

  def mergeList(key: UnsafeRow, values: Array[UnsafeRow], colFamilyName: String): Unit

  def deleteRange(beginKey: UnsafeRow, endKey: UnsafeRow, colFamilyName: String): Unit

  def release(): Unit =
    throw new UnsupportedOperationException("Should only call release() on ReadStateStore")
}
