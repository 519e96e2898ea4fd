package io.bucketstate.spark

import org.apache.spark.sql.execution.streaming.state.StateStoreConf

import io.bucketstate.config.{SparkHonoured, StoreConfig}
import io.bucketstate.error.InvalidException

/** Spark's `StateStoreConf` as the one checked [[StoreConfig]]. */
private[bucketstate] object SparkSettings {

  def read(conf: StateStoreConf): StoreConfig = {
    val encoding = conf.stateStoreEncodingFormat
    if (encoding != "unsaferow") {
      throw new InvalidException(
        s"spark.sql.streaming.stateStore.encodingFormat is '$encoding' but this provider stores UnsafeRows only",
        "Set it to 'unsaferow'; Spark uses 'avro' for transformWithState alone, which this provider " +
          "cannot serve."
      )
    }
    StoreConfig.parse(
      conf.sqlConfs,
      SparkHonoured(
        minVersionsToRetain = conf.minVersionsToRetain,
        minVersionsToDelete = conf.minVersionsToDelete,
        maxVersionsToDelete = conf.maxVersionsToDeletePerMaintenance,
        versionsInMemory = math.max(1, conf.maxVersionsToRetainInMemory),
        minDeltasForSnapshot = conf.minDeltasForSnapshot,
        compressionCodec = conf.compressionCodec,
        repair = conf.autoSnapshotRepairEnabled,
        repairAfterFailures = conf.autoSnapshotRepairNumFailuresBeforeActivating,
        repairMaxChangelogs = conf.autoSnapshotRepairMaxChangeFileReplay,
        checkpointIds = conf.enableStateStoreCheckpointIds,
        unloadOnCommit = conf.unloadOnCommit
      )
    )
  }
}
