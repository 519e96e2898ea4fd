package org.apache.spark.sql.execution.streaming.state

/** Spark's maintenance of stores, part of which is private to Spark. */
object StoreMaintenance {

  /**
   * Stops it and unloads all stores. `StateStore.stop` alone holds the lock that a thread of the pool may need to come
   * to an end, and then waits six minutes for that thread. Spark 4.0 has no way to stop the pool before.
   */
  def stop(): Unit = {
    held("maintenanceTask")
      .collect { case task: StateStore.MaintenanceTask => task }
      .foreach(_.stop())
    held("maintenanceThreadPool")
      .collect { case pool: StateStore.MaintenanceThreadPool => pool }
      .foreach(_.stop())
    StateStore.stop()
  }

  private def held(name: String): Option[Any] = {
    val field = StateStore.getClass.getDeclaredField(name)
    field.setAccessible(true)
    Option(field.get(StateStore))
  }
}
