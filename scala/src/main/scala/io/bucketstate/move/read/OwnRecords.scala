package io.bucketstate.move.read

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.apache.spark.sql.execution.streaming.state.{SparkInternals, StateStoreConf}

import io.bucketstate.checkpoint.io.{FileStore, FileStores, WorkFolder}
import io.bucketstate.checkpoint.manifest.{BucketCount, Checkpoint, RepairRules}
import io.bucketstate.checkpoint.records.KnownFamilies
import io.bucketstate.checkpoint.recovery.{Recovery, VersionRecords}
import io.bucketstate.checkpoint.run.read.RunAccess
import io.bucketstate.checkpoint.sst.SstOptions
import io.bucketstate.config.{ConfigKey, StoreConfig}
import io.bucketstate.record.FamilyDescriptor
import io.bucketstate.spark.SparkSettings

/**
 * A partition of a store of this project as its files have it: records, whose bytes need not be understood. A bucket is in
 * memory at a time. To be closed. For one thread.
 */
private[bucketstate] final class OwnRecords(
    store: SourceStore,
    root: Path,
    partition: Int,
    version: Long,
    config: StoreConfig,
    hadoop: Configuration
) extends AutoCloseable {
  val folder: Path = store.folder(root, partition)

  private[this] val files: FileStore =
    FileStores.forFolder(folder, hadoop, config.objectStores)
  private[this] val opened = new OnceClosed(() => files.close())
  private[this] val runs = OwnRecords.access(files, config)
  private[this] val buckets = new BucketCount(None, ConfigKey.NumBuckets.default.toInt, files)
  private[this] val default: FamilyDescriptor =
    store.described(store.default, None).descriptor(0)

  private[this] val records = opened.orClosed {
    val checkpoint =
      new Checkpoint(files, buckets, new KnownFamilies(default, others = true), runs)
    val recovery = new Recovery(checkpoint, RepairRules(enabled = true, 1, Int.MaxValue))
    val recovered = recovery.load(version, store.ids.map(_(partition)))
    new VersionRecords(recovered, buckets.assigner)
  }

  /** Into how many buckets its keys are divided. */
  def numBuckets: Int = buckets.assigner.numBuckets

  def state: VersionRecords = records

  override def close(): Unit = opened.close(runs.close())
}

private[bucketstate] object OwnRecords {

  def configOf(conf: StateStoreConf): StoreConfig = SparkSettings.read(conf)

  /** Reads and writes runs in a folder, with working files of its own. */
  def access(files: FileStore, config: StoreConfig): RunAccess = new RunAccess(
    files,
    SstOptions.of(config),
    () => WorkFolder.ofItsOwn(SparkInternals.newLocalFolder().toPath),
    config.maxRunFileBytes
  )
}
