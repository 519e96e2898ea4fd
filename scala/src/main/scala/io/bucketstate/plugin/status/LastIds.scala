package io.bucketstate.plugin.status

import scala.collection.mutable

/**
 * The last ids of what is gone for good: runs that have ended, executors that Spark has removed. One of these is told of all
 * the same, as by an executor that wakes up of a long collection of garbage. Spark gives no id twice. Not thread-safe.
 */
private[plugin] final class LastIds {
  import LastIds._

  private[this] val ids = mutable.LinkedHashSet.empty[String]

  def add(id: String): Unit = {
    ids += id
    if (ids.size > Most) ids -= ids.head
  }

  def has(id: String): Boolean = ids(id)
}

private object LastIds {

  /** More than are told of late: an executor that has not heard of so many later ends keeps what it counted for a run. */
  private final val Most = 10000
}
