package io.bucketstate.memory

import io.bucketstate.config.{ConfigKey, MemoryLimit}

/** What `memory.maxBytes` comes to in a heap. Pure. */
object HeapLimit {

  /**
   * @param heap      most bytes that the heap can have
   * @param spareable of those, bytes that nobody else has a claim to
   * @return bytes, and the setting with its value, for messages
   */
  def of(limit: MemoryLimit, heap: Long, spareable: Long): (Long, String) = {
    val (bytes, value) = limit match {
      case MemoryLimit.Auto =>
        Math.max((spareable * AutoShare).toLong, (heap * LeastShare).toLong) -> "auto"
      case MemoryLimit.Share(percent) => heap / 100 * percent -> s"$percent%"
      case MemoryLimit.Bytes(bytes)   => bytes -> bytes.toString
    }
    (bytes, s"${ConfigKey.MemoryMaxBytes.key}=$value")
  }

  /**
   * What one batch may change where state lies outside the heap: its changes lie in it, and so does all else. A limit on
   * memory that is mostly outside says nothing of how much heap there is.
   *
   * @param limit   bytes that all state may have, in the heap and outside
   * @param setting that says so, for messages
   * @param heap    most bytes that the heap can have
   */
  def ofChanges(limit: Long, setting: String, heap: Long): MemoryTracker.Limit = {
    val most = heap / ChangesPart
    if (limit <= most) MemoryTracker.Limit(limit, setting)
    else
      MemoryTracker.Limit(
        most,
        s"half of its $heap, which is less than $setting",
        "raise the heap: spark.executor.memory, or spark.driver.memory where that runs the tasks"
      )
  }

  /** The part of the heap that changes may take. */
  private final val ChangesPart = 2

  /** The rest is for what a batch makes and drops. */
  private final val AutoShare = 0.75

  /** Where nothing is to spare, in a very small heap. */
  private final val LeastShare = 0.1
}
