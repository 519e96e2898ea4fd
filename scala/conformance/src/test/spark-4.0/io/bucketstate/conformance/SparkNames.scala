package io.bucketstate.conformance

import org.apache.spark.sql.execution.streaming.state.StateStoreMultipleColumnFamiliesNotSupportedException

/** What this Spark has under another name than others, or alone. */
private object SparkNames {

  /** The failure of `transformWithState` on HDFSBackedStateStoreProvider. */
  type Refusal = StateStoreMultipleColumnFamiliesNotSupportedException

  /** How long `StateStore.stop` waits for maintenance: there is no setting for it. */
  val stopTimeouts: Seq[(String, String)] = Nil
}
