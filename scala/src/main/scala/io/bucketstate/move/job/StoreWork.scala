package io.bucketstate.move.job

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.execution.streaming.state.StateStoreConf

import io.bucketstate.checkpoint.records.FamilyEncodings
import io.bucketstate.move.place.Deciding
import io.bucketstate.move.read.{
  HdfsRows,
  OwnRecords,
  OwnRows,
  Provider,
  ProviderRows,
  SourceStore,
  StateRows
}
import io.bucketstate.move.upsert.RowShape
import io.bucketstate.move.write.TargetFamily
import io.bucketstate.record.FamilySpec

/**
 * What is to be done with one store of one operator. Immutable; goes to executors.
 *
 * @param from          root of the checkpoint that is read
 * @param to            root of the one that is written
 * @param sources       partitions that are there
 * @param had           partitions that keys lay in; 1 where all lie in the first
 * @param targets       partitions that they will lie in
 * @param version       that is read
 * @param target        that is written
 * @param families      of the target, where it is of this project, by their numbers
 * @param hasIds        whether the target has checkpoint ids
 * @param deletes       a condition on the columns of the grouping key, bound by their places
 * @param staysPut      whether each key stays in the partition that it lies in, whatever its hash
 * @param head          what the files of the source say of it, where it is of this project
 * @param upsert        how rows that are given become its keys and values, where they go into this store
 */
private[move] final case class StoreWork(
    store: SourceStore,
    from: String,
    to: String,
    sourceProvider: Provider,
    targetProvider: Provider,
    sources: Seq[Int],
    had: Int,
    targets: Int,
    version: Long,
    target: Long,
    numBuckets: Int,
    families: Seq[TargetFamily],
    hasIds: Boolean,
    sourceConf: StateStoreConf,
    targetConf: StateStoreConf,
    deletes: Option[Expression],
    staysPut: Boolean,
    head: Option[StoreHead],
    upsert: Option[RowShape]
) {

  /** Whether records go over as they are. */
  def isRaw: Boolean = sourceProvider == Provider.Ours && targetProvider == Provider.Ours

  def isInPlace: Boolean = from == to

  def name: String =
    if (store.name == "default") s"operator ${store.operator}"
    else s"operator ${store.operator}, ${store.name}"

  /** How a column family of the target is kept, by its name. */
  def specOf(family: String): FamilySpec =
    FamilyEncodings.specOf(name, families.map(_.descriptor).find(_.name == family).get)

  /** Whether no key has to be placed. */
  def leavesKeys: Boolean = targets == had && upsert.isEmpty

  /** This work where other columns decide. */
  def deciding(change: Deciding => Deciding): StoreWork = copy(store =
    store.copy(families = store.families.map(f => f.copy(deciding = change(f.deciding))))
  )

  /** The rows of a partition of the source. */
  def rows(partition: Int, hadoop: Configuration): StateRows = sourceProvider match {
    case Provider.Ours =>
      val config = OwnRecords.configOf(sourceConf)
      new OwnRows(store, new Path(from), partition, version, config, hadoop)
    case Provider.Hdfs =>
      new HdfsRows(store, new Path(from), partition, version, sourceConf, hadoop)
    case Provider.RocksDb =>
      new ProviderRows(store, new Path(from), partition, version, sourceConf, hadoop)
  }

  /** The store as the target has it. */
  def written(ids: Option[Seq[String]]): SourceStore = store.copy(ids = ids)
}
