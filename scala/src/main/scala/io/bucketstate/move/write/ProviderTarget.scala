package io.bucketstate.move.write

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.execution.streaming.state.StateStoreConf

import io.bucketstate.move.read.{ProviderRows, SourceStore}

/** Writes a state with the provider that a query will go on with: one version, as the first of all. */
private[move] object ProviderTarget {

  /** @return the checkpoint id of what was written, where there are ids */
  def write(
      store: SourceStore,
      root: Path,
      partition: Int,
      version: Long,
      conf: StateStoreConf,
      hadoop: Configuration,
      rows: Iterator[(Array[Byte], Array[Byte])]
  ): Option[String] = {
    val provider = ProviderRows.open(store, root, partition, conf, hadoop)
    try {
      val state = EmptyStores.open(provider, version - 1)
      try {
        if (store.useColumnFamilies) ProviderRows.register(state, store)
        val keys = store.families.map(f => new UnsafeRow(f.keySchema.length))
        val values = store.families.map(f => new UnsafeRow(f.valueSchema.length))
        rows.foreach { case (place, bytes) =>
          val number = Place.family(place)
          val family = store.families(number)
          val keyBytes = ExportMaker.key(place)
          keys(number).pointTo(keyBytes, keyBytes.length)
          values(number).pointTo(bytes, bytes.length)
          if (family.multiValued && !ExportMaker.isFirst(place)) {
            state.merge(keys(number), values(number), family.name)
          } else state.put(keys(number), values(number), family.name)
        }
        state.commit()
        state.getStateStoreCheckpointInfo().stateStoreCkptId
      } finally if (!state.hasCommitted) state.abort()
    } finally provider.close()
  }
}
