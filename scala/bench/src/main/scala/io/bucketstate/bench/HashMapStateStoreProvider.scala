package io.bucketstate.bench

import java.util.{HashMap => JHashMap}

import org.apache.hadoop.conf.Configuration
import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.execution.streaming.state._
import org.apache.spark.sql.types.StructType

/**
 * A bare hash map behind Spark's trait: copies what it is given, as every provider must, and does
 * nothing else. No versions, no files, no way back: only the limit to measure the others by.
 */
class HashMapStateStoreProvider extends StateStoreProvider {
  private val map = new JHashMap[UnsafeRow, UnsafeRow]
  private var storeId: StateStoreId = _

  override def init(
      stateStoreId: StateStoreId,
      keySchema: StructType,
      valueSchema: StructType,
      keyStateEncoderSpec: KeyStateEncoderSpec,
      useColumnFamilies: Boolean,
      storeConfs: StateStoreConf,
      hadoopConf: Configuration,
      useMultipleValuesPerKey: Boolean,
      stateSchemaProvider: Option[StateSchemaProvider]
  ): Unit = storeId = stateStoreId

  override def stateStoreId: StateStoreId = storeId

  override def close(): Unit = map.clear()

  override def getStore(
      version: Long,
      stateStoreCkptId: Option[String],
      forceSnapshotOnCommit: Boolean,
      loadEmpty: Boolean
  ): StateStore = new Store(version)

  private final class Store(override val version: Long) extends StateStore {
    private var committed = false

    override def id: StateStoreId = storeId

    override def get(key: UnsafeRow, colFamilyName: String): UnsafeRow = map.get(key)

    override def put(key: UnsafeRow, value: UnsafeRow, colFamilyName: String): Unit = {
      map.put(key.copy(), value.copy())
      ()
    }

    override def remove(key: UnsafeRow, colFamilyName: String): Unit = {
      map.remove(key)
      ()
    }

    override def commit(): Long = {
      committed = true
      version + 1
    }

    override def abort(): Unit = ()
    override def hasCommitted: Boolean = committed
    override def allColumnFamilyNames: Set[String] = Set(StateStore.DEFAULT_COL_FAMILY_NAME)
    override def metrics: StateStoreMetrics =
      StateStoreMetrics(map.size.toLong, 0, Map.empty, Map.empty)

    override def getStateStoreCheckpointInfo(): StateStoreCheckpointInfo =
      StateStoreCheckpointInfo(storeId.partitionId, version + 1, None, None)

    override def iterator(colFamilyName: String): StateStoreIterator[UnsafeRowPair] = notNeeded()

    override def valuesIterator(key: UnsafeRow, colFamilyName: String): Iterator[UnsafeRow] =
      notNeeded()

    override def prefixScan(
        prefixKey: UnsafeRow,
        colFamilyName: String
    ): StateStoreIterator[UnsafeRowPair] = notNeeded()

    override def prefixScanWithMultiValues(
        prefixKey: UnsafeRow,
        colFamilyName: String
    ): StateStoreIterator[UnsafeRowPair] = notNeeded()

    override def iteratorWithMultiValues(
        colFamilyName: String
    ): StateStoreIterator[UnsafeRowPair] = notNeeded()

    override def removeColFamilyIfExists(colFamilyName: String): Boolean = notNeeded()

    override def createColFamilyIfAbsent(
        colFamilyName: String,
        keySchema: StructType,
        valueSchema: StructType,
        keyStateEncoderSpec: KeyStateEncoderSpec,
        useMultipleValuesPerKey: Boolean,
        isInternal: Boolean
    ): Unit = notNeeded()

    override def putList(key: UnsafeRow, values: Array[UnsafeRow], colFamilyName: String): Unit =
      notNeeded()

    override def merge(key: UnsafeRow, value: UnsafeRow, colFamilyName: String): Unit =
      notNeeded()

    override def mergeList(key: UnsafeRow, values: Array[UnsafeRow], colFamilyName: String): Unit =
      notNeeded()

    private def notNeeded[T](): T =
      throw new UnsupportedOperationException(
        "the benchmark's hash map only gets, puts and removes"
      )
  }
}
