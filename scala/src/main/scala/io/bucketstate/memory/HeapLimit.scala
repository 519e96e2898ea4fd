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

  /** The rest is for what a batch makes and drops. */
  private final val AutoShare = 0.75

  /** Where nothing is to spare, in a very small heap. */
  private final val LeastShare = 0.1
}
