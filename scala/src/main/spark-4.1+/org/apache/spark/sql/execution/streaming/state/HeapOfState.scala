package org.apache.spark.sql.execution.streaming.state

import org.apache.spark.memory.{
  MemoryMode,
  UnifiedMemoryManager,
  UnmanagedMemoryConsumer,
  UnmanagedMemoryConsumerId
}

/** What Spark is told of memory that state takes of its own share of the heap. */
object HeapOfState extends UnmanagedMemoryConsumer {
  @volatile private var used: () => Long = () => 0L

  /**
   * Tells Spark's memory manager what state takes that is more than `SparkInternals.userMemory`. May be called again
   * and again.
   *
   * @param used bytes of all state in this process
   */
  def tell(used: () => Long): Unit = {
    this.used = used
    UnifiedMemoryManager.registerUnmanagedMemoryConsumer(this)
  }

  override val unmanagedMemoryConsumerId: UnmanagedMemoryConsumerId =
    UnmanagedMemoryConsumerId("bucketstate", "state on the heap")

  override def memoryMode: MemoryMode = MemoryMode.ON_HEAP

  override def getMemBytesUsed: Long = Math.max(0L, used() - SparkInternals.userMemory)
}
