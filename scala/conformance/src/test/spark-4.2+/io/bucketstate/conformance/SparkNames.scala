package io.bucketstate.conformance

import org.apache.spark.sql.execution.streaming.state.StateStoreBackendNotSupportedForTWSException
import org.apache.spark.sql.internal.SQLConf

/** What this Spark has under another name than others, or alone. */
private object SparkNames {

  /** The failure of `transformWithState` on HDFSBackedStateStoreProvider. */
  type Refusal = StateStoreBackendNotSupportedForTWSException

  /** How long `StateStore.stop` waits for maintenance. */
  val stopTimeouts: Seq[(String, String)] = Seq(
    SQLConf.STATE_STORE_MAINTENANCE_SHUTDOWN_TIMEOUT.key -> "2s",
    SQLConf.STATE_STORE_MAINTENANCE_FORCE_SHUTDOWN_TIMEOUT.key -> "1s"
  )
}
