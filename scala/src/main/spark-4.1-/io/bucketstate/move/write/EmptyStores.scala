package io.bucketstate.move.write

import org.apache.spark.sql.execution.streaming.state.{StateStore, StateStoreProvider}

import io.bucketstate.error.InvalidException

/** Opens the empty state as one of any version: Spark's providers can do so since 4.2. */
private[move] object EmptyStores {

  /** Whether Spark's RocksDB provider can do so. */
  val AreServed = false

  def open(provider: StateStoreProvider, version: Long): StateStore = throw new InvalidException(
    s"${provider.getClass.getSimpleName} cannot begin with version $version before Spark 4.2",
    "Export with Spark 4.2 or newer: the query may go on with this one afterwards."
  )
}
