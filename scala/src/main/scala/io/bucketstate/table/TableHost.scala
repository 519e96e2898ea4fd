package io.bucketstate.table

import io.bucketstate.table.cold.LoadHost

/**
 * What a table asks of whoever keeps it. Safe for several threads; one host may have many tables.
 */
trait TableHost extends LoadHost {

  /**
   * The table is in use: the first bucket that somebody touched is loaded, or the first version committed,
   * whichever comes first. Called once for each table that was not whole then. Must not wait.
   */
  def inUse(table: StateTable): Unit
}

object TableHost {

  /** Tells failures as they are, and loads one bucket after another. */
  object Plain extends TableHost {
    override def failureOf(cause: Throwable): Throwable = cause
    override def inUse(table: StateTable): Unit = ()
    override def hasRoom(bytes: Long): Boolean = true
    override def mayKeep(bytes: Long): Boolean = true
    override def requireRoom(bytes: Long): Unit = ()
    override def forEach(count: Int)(load: Int => Unit): Unit = (0 until count).foreach(load)
    override def ahead(task: Runnable): Unit = ()
  }
}
