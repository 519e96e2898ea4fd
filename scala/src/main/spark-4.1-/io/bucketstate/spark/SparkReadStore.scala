package io.bucketstate.spark

import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.execution.streaming.state._
import org.apache.spark.sql.types.StructType

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
