package io.bucketstate

import java.time.Clock
import java.util.UUID

import org.apache.hadoop.conf.Configuration
import org.apache.spark.sql.execution.streaming.state._
import org.apache.spark.sql.types.StructType

import io.bucketstate.background.{ClocksAndIds, Ticker}
import io.bucketstate.spark.plan.ExtensionCheck
import io.bucketstate.spark.{
  BucketedReadStore,
  BucketedStore,
  BuiltForSpark,
  EndedRuns,
  InstanceMetrics,
  SparkMetrics,
  SparkProvider,
  SparkSettings,
  StoreDefinition
}

/**
 * The state store provider: what users name in `spark.sql.streaming.stateStore.providerClass`.
 *
 * It keeps the state of a partition as compact bytes in memory, grouped in buckets, and writes for each
 * batch one file with what the batch changed. Spark makes one per store and query run and calls it from
 * task threads and maintenance threads. This class only wires: see `spark.BucketedStore`.
 */
final class BucketedStateStoreProvider
    extends BuiltForSpark
    with SparkProvider
    with InstanceMetrics {
  @volatile private[this] var store: BucketedStore = _

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
  ): Unit = {
    // Before Spark lists the store as loaded, and tells its coordinator: a killed task needs none.
    SparkInternals.requireTaskAlive()
    SparkSettings.requireOneThread()
    require(
      useColumnFamilies || !useMultipleValuesPerKey,
      "Multiple values per key support requires column families to be enabled in " +
        "BucketedStateStoreProvider."
    )
    val whose = SparkSettings.scopeOf(stateStoreId, storeConfs, hadoopConf)
    whose.refusal.filter(_ => SparkInternals.isOfBatch(hadoopConf)).foreach(throw _)
    store = new BucketedStore(
      StoreDefinition(
        stateStoreId,
        keySchema,
        valueSchema,
        keyStateEncoderSpec,
        useColumnFamilies,
        useMultipleValuesPerKey,
        stateSchemaProvider.filter(_ => useColumnFamilies && SparkSettings.evolves(storeConfs))
      ),
      SparkSettings.read(storeConfs, whose.scope),
      storeConfs,
      hadoopConf,
      ClocksAndIds(Clock.systemUTC(), Ticker.System, () => UUID.randomUUID()),
      whose.refusal
    )
  }

  override def stateStoreId: StateStoreId = store.id

  override def getStore(
      version: Long,
      stateStoreCkptId: Option[String],
      forceSnapshotOnCommit: Boolean,
      loadEmpty: Boolean
  ): StateStore = store.openForWrite(version, stateStoreCkptId, forceSnapshotOnCommit, loadEmpty)

  override def upgradeReadStoreToWriteStore(
      readStore: ReadStateStore,
      version: Long,
      uniqueId: Option[String],
      forceSnapshotOnCommit: Boolean
  ): StateStore = {
    // Spark offers the task's last one: with two stateful operators in a stage that may be the other's.
    val reader = Option(readStore).collect {
      case ours: BucketedReadStore if ours.id == store.id => ours
    }
    store.openForWrite(version, uniqueId, forceSnapshotOnCommit, loadEmpty = false, reader)
  }

  override def getReadStore(version: Long, uniqueId: Option[String]): ReadStateStore =
    store.openForRead(version, uniqueId)

  override def replayStateFromSnapshot(
      snapshotVersion: Long,
      endVersion: Long,
      readOnly: Boolean,
      snapshotVersionStateStoreCkptId: Option[String],
      endVersionStateStoreCkptId: Option[String]
  ): StateStore =
    store
      .replay(
        snapshotVersion,
        snapshotVersionStateStoreCkptId,
        endVersion,
        endVersionStateStoreCkptId
      )
      .forWrite

  override def replayReadStateFromSnapshot(
      snapshotVersion: Long,
      endVersion: Long,
      snapshotVersionStateStoreCkptId: Option[String],
      endVersionStateStoreCkptId: Option[String]
  ): ReadStateStore =
    store
      .replay(
        snapshotVersion,
        snapshotVersionStateStoreCkptId,
        endVersion,
        endVersionStateStoreCkptId
      )
      .forRead

  override def getStateStoreChangeDataReader(
      startVersion: Long,
      endVersion: Long,
      colFamilyNameOpt: Option[String],
      endVersionStateStoreCkptId: Option[String]
  ): ChangeRecords =
    store.changes(startVersion, endVersion, colFamilyNameOpt, endVersionStateStoreCkptId)

  override def doMaintenance(): Unit = store.maintain()

  override def close(): Unit = if (store != null) store.close()

  /** Each stateful operator asks for them on the driver, before its first batch runs. */
  override def supportedCustomMetrics: Seq[StateStoreCustomMetric] = {
    ExtensionCheck.verify()
    EndedRuns.watch()
    SparkMetrics.supported
  }

  override def toString: String = s"BucketedStateStoreProvider[${Option(store).map(_.id).orNull}]"
}
