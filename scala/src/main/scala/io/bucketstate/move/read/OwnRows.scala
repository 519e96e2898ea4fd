package io.bucketstate.move.read

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path

import io.bucketstate.config.StoreConfig

/** A partition of a store of this project as rows. */
private[bucketstate] final class OwnRows(
    store: SourceStore,
    root: Path,
    partition: Int,
    version: Long,
    config: StoreConfig,
    hadoop: Configuration
) extends StateRows {
  private[this] val records = new OwnRecords(store, root, partition, version, config, hadoop)
  private[this] val byName = store.families.map(f => f.name -> f).toMap
  private[this] val evolving = store.schemas(root, hadoop)

  private[this] val rows =
    records.state.families.iterator.flatMap(spec => byName.get(spec.name).map(_ -> spec)).flatMap {
      case (family, spec) => new OwnFamily(store, family, spec, records.state, evolving).all
    }

  override def hasNext: Boolean = rows.hasNext

  override def next(): StateRow = rows.next()

  override def close(): Unit = records.close()
}
