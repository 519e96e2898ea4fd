package io.bucketstate.move.read

import java.util.UUID

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.apache.spark.sql.execution.streaming.state.{
  ReadStateStore,
  SparkInternals,
  StateStore,
  StateStoreConf,
  StateStoreProvider,
  StateStoreProviderId
}

/** A partition as the provider gives it that has written it. */
private[move] final class ProviderRows(
    store: SourceStore,
    root: Path,
    partition: Int,
    version: Long,
    conf: StateStoreConf,
    hadoop: Configuration
) extends StateRows {
  private[this] val provider = ProviderRows.open(store, root, partition, conf, hadoop)
  private[this] val opened = new OnceClosed(() => provider.close())
  private[this] val state: ReadStateStore =
    opened.orClosed(ProviderRows.reading(provider, store, version, store.ids.map(_(partition))))

  private[this] val rows = store.families.iterator.flatMap { family =>
    val pairs = state.iterator(family.name)
    if (family.multiValued) pairs.map { pair =>
      val key = pair.key.copy()
      new StateRow(family, key, state.valuesIterator(key, family.name))
    }
    else pairs.map(pair => new StateRow(family, pair.key, Iterator.single(pair.value)))
  }

  override def hasNext: Boolean = rows.hasNext

  override def next(): StateRow = rows.next()

  /** How many keys RocksDB has in families that the store is not told of; of those that have some. */
  def keysIn(families: Seq[String]): Map[String, Long] =
    families.map(f => f -> SparkInternals.rocksDbKeys(state, f)).filter(_._2 > 0).toMap

  override def close(): Unit = opened.close {
    // What is open for writing, because families can be told of in no other way, is given up.
    state.abort()
  }
}

private[move] object ProviderRows {

  /** A provider of a store, with which nothing was opened yet. */
  def open(
      store: SourceStore,
      root: Path,
      partition: Int,
      conf: StateStoreConf,
      hadoop: Configuration
  ): StateStoreProvider = {
    val default = store.default
    StateStoreProvider.createAndInit(
      StateStoreProviderId(store.id(root, partition), UUID.randomUUID()),
      default.keySchema,
      default.valueSchema,
      default.spec,
      store.useColumnFamilies,
      conf,
      new Configuration(hadoop),
      useMultipleValuesPerKey = false,
      store.schemas(root, hadoop)
    )
  }

  private def reading(
      provider: StateStoreProvider,
      store: SourceStore,
      version: Long,
      id: Option[String]
  ): ReadStateStore =
    if (!store.useColumnFamilies) provider.getReadStore(version, id)
    else {
      val state = provider.getStore(version, id)
      register(state, store)
      state
    }

  /** Tells an opened store of its families. */
  def register(state: StateStore, store: SourceStore): Unit = store.families.foreach { family =>
    state.createColFamilyIfAbsent(
      family.name,
      family.keySchema,
      family.valueSchema,
      family.spec,
      family.multiValued,
      family.isInternal
    )
  }
}
