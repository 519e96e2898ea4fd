package io.bucketstate.conformance

import org.apache.hadoop.conf.Configuration
import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.execution.streaming.state._
import org.apache.spark.sql.types.StructType

import io.bucketstate.BucketedStateStoreProvider

/** The provider that Spark's suite of providers tries. */
object SuiteProvider {
  type Tried = ForgivingProvider

  def make(): Tried = new ForgivingProvider
}

/**
 * This provider for tests of Spark 4.0 that do with stores what no operator does. They read a store after its commit: here
 * a read store of the new version answers. They open another store, or close the provider, while one is open: that one is
 * aborted before, as the end of its task does in a query.
 */
final class ForgivingProvider extends StateStoreProvider {
  private[this] val own = new BucketedStateStoreProvider
  private[this] var stores = List.empty[ForgivingStore]

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
  ): Unit = own.init(
    stateStoreId,
    keySchema,
    valueSchema,
    keyStateEncoderSpec,
    useColumnFamilies,
    storeConfs,
    hadoopConf,
    useMultipleValuesPerKey,
    stateSchemaProvider
  )

  override def stateStoreId: StateStoreId = own.stateStoreId

  override def getStore(version: Long, stateStoreCkptId: Option[String]): StateStore = {
    stores.foreach(_.leave())
    val store = new ForgivingStore(own.getStore(version, stateStoreCkptId), own.getReadStore(_, _))
    stores ::= store
    store
  }

  override def getReadStore(version: Long, stateStoreCkptId: Option[String]): ReadStateStore =
    own.getReadStore(version, stateStoreCkptId)

  override def doMaintenance(): Unit = own.doMaintenance()

  override def supportedCustomMetrics: Seq[StateStoreCustomMetric] = own.supportedCustomMetrics

  override def close(): Unit = {
    stores.foreach(_.end())
    stores = Nil
    own.close()
  }
}

/** @param reading gives a store of a version to read, with its checkpoint id */
private final class ForgivingStore(
    store: StateStore,
    reading: (Long, Option[String]) => ReadStateStore
) extends StateStore {
  private[this] var made = -1L // the version that the commit made, none before it
  private[this] var reader =
    Option.empty[ReadStateStore] // a store of that version, once one was read

  /** Ends the writing, which would keep others from the provider. */
  def leave(): Unit = if (!store.hasCommitted) store.abort()

  /** Ends the writing and the reading, for which the provider's `close` waits. */
  def end(): Unit = {
    leave()
    reader.foreach(_.abort())
    reader = None
  }

  private def readable: ReadStateStore =
    if (made < 0) store
    else
      reader.getOrElse {
        val opened = reading(made, store.getStateStoreCheckpointInfo().stateStoreCkptId)
        reader = Some(opened)
        opened
      }

  override def id: StateStoreId = store.id

  override def version: Long = store.version

  override def get(key: UnsafeRow, family: String): UnsafeRow = readable.get(key, family)

  override def valuesIterator(key: UnsafeRow, family: String): Iterator[UnsafeRow] =
    readable.valuesIterator(key, family)

  override def prefixScan(prefix: UnsafeRow, family: String): StateStoreIterator[UnsafeRowPair] =
    readable.prefixScan(prefix, family)

  override def iterator(family: String): StateStoreIterator[UnsafeRowPair] =
    readable.iterator(family)

  override def createColFamilyIfAbsent(
      family: String,
      keySchema: StructType,
      valueSchema: StructType,
      keyStateEncoderSpec: KeyStateEncoderSpec,
      useMultipleValuesPerKey: Boolean,
      isInternal: Boolean
  ): Unit = store.createColFamilyIfAbsent(
    family,
    keySchema,
    valueSchema,
    keyStateEncoderSpec,
    useMultipleValuesPerKey,
    isInternal
  )

  override def removeColFamilyIfExists(family: String): Boolean =
    store.removeColFamilyIfExists(family)

  override def put(key: UnsafeRow, value: UnsafeRow, family: String): Unit =
    store.put(key, value, family)

  override def merge(key: UnsafeRow, value: UnsafeRow, family: String): Unit =
    store.merge(key, value, family)

  override def remove(key: UnsafeRow, family: String): Unit = store.remove(key, family)

  override def commit(): Long = {
    made = store.commit()
    made
  }

  override def abort(): Unit = store.abort()

  override def metrics: StateStoreMetrics = store.metrics

  override def getStateStoreCheckpointInfo(): StateStoreCheckpointInfo =
    store.getStateStoreCheckpointInfo()

  override def hasCommitted: Boolean = store.hasCommitted
}
