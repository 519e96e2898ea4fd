package io.bucketstate.plugin.status

import scala.collection.mutable

/**
 * The executors that Spark has removed, the last of them. One that is only slow, as in a long collection of garbage, tells of
 * itself all the same when it wakes up, and no second removal follows. Spark gives no id twice. Not thread-safe.
 */
private[plugin] final class RemovedExecutors {
  import RemovedExecutors._

  private[this] val ids = mutable.LinkedHashSet.empty[String]

  def add(executor: String): Unit = {
    ids += executor
    if (ids.size > Most) ids -= ids.head
  }

  def has(executor: String): Boolean = ids(executor)
}

private object RemovedExecutors {

  /** More than tell of themselves late: those end within minutes of their removal. */
  private final val Most = 10000
}
