package io.bucketstate.table.cold

/**
 * What the loading of buckets asks of whoever keeps the table, as long as not all of them are in memory. Safe for
 * several threads; one host may have many tables.
 */
trait LoadHost {

  /** What a failure to load a bucket is told as to those who touched the bucket. */
  def failureOf(cause: Throwable): Throwable

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
