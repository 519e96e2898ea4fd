package io.bucketstate.table

/**
 * What a table asks of whoever keeps it, as long as not all of its buckets are in memory. Safe for several
 * threads; one host may have many tables.
 */
trait LoadHost {

  /** What a failure to load a bucket is told as to those who touched the bucket. */
  def failureOf(cause: Throwable): Throwable

  /**
   * The table is in use: the first bucket that somebody touched is loaded, or the first version committed,
   * whichever comes first. Called once for each table that was not whole then. Must not wait.
   */
  def inUse(table: StateTable): Unit

  /** Whether there is room for so many bytes of heap more. Asked before each bucket; must not wait. */
  def hasRoom(bytes: Long): Boolean

  /**
   * Whether a batch may remember what it has read outside of memory, so that it need not read it again: so many bytes of
   * heap so far, which the table counts as its own. Any thread.
   */
  def mayKeep(bytes: Long): Boolean

  /**
   * Throws when what one version changes is more than memory may hold. Called now and then while it is written.
   *
   * @param bytes of heap that its changes, and the records that they stand on, take so far, in one family
   */
  def requireRoom(bytes: Long): Unit

  /**
   * Calls `load` with each number from 0 until `count`, in any threads and any order. Returns when all calls
   * have returned; throws what one of them threw.
   */
  def forEach(count: Int)(load: Int => Unit): Unit

  /** Runs what somebody is about to need, in another thread, if there is one to spare. Must not wait. */
  def ahead(task: Runnable): Unit
}

object LoadHost {

  /** Tells failures as they are, and loads one bucket after another. */
  object Plain extends LoadHost {
    override def failureOf(cause: Throwable): Throwable = cause
    override def inUse(table: StateTable): Unit = ()
    override def hasRoom(bytes: Long): Boolean = true
    override def mayKeep(bytes: Long): Boolean = true
    override def requireRoom(bytes: Long): Unit = ()
    override def forEach(count: Int)(load: Int => Unit): Unit = (0 until count).foreach(load)
    override def ahead(task: Runnable): Unit = ()
  }
}
