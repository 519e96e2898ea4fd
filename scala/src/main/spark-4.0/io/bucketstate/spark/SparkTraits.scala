package io.bucketstate.spark

import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.execution.streaming.state._
import org.apache.spark.sql.types.StructType

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

/** Spark's trait of a store that is read, with what later ones have besides. */
private[spark] trait SparkReadStore extends ReadStateStore {
  def release(): Unit

  def multiGet(keys: Array[UnsafeRow], colFamilyName: String): Iterator[UnsafeRow]

  def keyExists(key: UnsafeRow, colFamilyName: String): Boolean

  def rangeScan(
      startKey: Option[UnsafeRow],
      endKey: Option[UnsafeRow],
      colFamilyName: String
  ): StateStoreIterator[UnsafeRowPair]

  def iteratorWithMultiValues(colFamilyName: String): StateStoreIterator[UnsafeRowPair]

  def prefixScanWithMultiValues(
      prefixKey: UnsafeRow,
      colFamilyName: String
  ): StateStoreIterator[UnsafeRowPair]

  def rangeScanWithMultiValues(
      startKey: Option[UnsafeRow],
      endKey: Option[UnsafeRow],
      colFamilyName: String
  ): StateStoreIterator[UnsafeRowPair]

  def allColumnFamilyNames: Set[String]

  def registerColFamily(
      colFamilyName: String,
      keySchema: StructType,
      valueSchema: StructType,
      keyStateEncoderSpec: KeyStateEncoderSpec,
      useMultipleValuesPerKey: Boolean,
      isInternal: Boolean
  ): Unit
}

/** Spark's trait of a store that is written, with what later ones have besides. */
private[spark] trait SparkWriteStore extends StateStore {
  def putList(key: UnsafeRow, values: Array[UnsafeRow], colFamilyName: String): Unit

  def mergeList(key: UnsafeRow, values: Array[UnsafeRow], colFamilyName: String): Unit

  def deleteRange(beginKey: UnsafeRow, endKey: UnsafeRow, colFamilyName: String): Unit

  def release(): Unit =
    throw new UnsupportedOperationException("Should only call release() on ReadStateStore")
}

/** Spark's trait of a metric, with what later ones have besides. */
private[spark] trait SparkMetric extends StateStoreCustomMetric {
  def isSnapshot: Boolean
}
