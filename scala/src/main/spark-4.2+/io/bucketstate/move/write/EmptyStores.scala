package io.bucketstate.move.write

import org.apache.spark.sql.execution.streaming.state.{StateStore, StateStoreProvider}

/** Opens the empty state as one of any version. */
private[move] object EmptyStores {

  /** Whether Spark's RocksDB provider can do so. */
  val AreServed = true

  def open(provider: StateStoreProvider, version: Long): StateStore =
    provider.getStore(version, None, forceSnapshotOnCommit = true, loadEmpty = true)
}
