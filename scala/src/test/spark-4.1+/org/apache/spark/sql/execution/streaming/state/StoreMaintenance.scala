package org.apache.spark.sql.execution.streaming.state

/** Spark's maintenance of stores, part of which is private to Spark. */
object StoreMaintenance {

  /**
   * Stops it and unloads all stores. `StateStore.stop` alone holds the lock that a thread of the pool may need to come
   * to an end, and then waits six minutes for that thread.
   */
  def stop(): Unit = {
    StateStore.stopMaintenanceTaskWithoutLock()
    StateStore.stop()
  }
}
