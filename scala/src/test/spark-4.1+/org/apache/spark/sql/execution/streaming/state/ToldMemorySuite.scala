package org.apache.spark.sql.execution.streaming.state

import org.apache.spark.memory.UnifiedMemoryManager

import io.bucketstate.testkit.ProviderHarness._
import io.bucketstate.testkit.{ShortMemory, TidySuite}

/** What Spark's memory manager, which is private to Spark, is told of state on the heap. */
class ToldMemorySuite extends TidySuite {
  private def told: Long = UnifiedMemoryManager.getMemoryByComponentType("bucketstate")

  test("Spark is told of what state takes of its share of the heap, and not of the rest") {
    withHarness { harness =>
      val provider = harness.provider()
      batch(provider, 0)((1L, "a") -> (1L, "b"))()
      assert(told == 0, "there is little, and it is in the heap that is for user code")
      ShortMemory.during(assert(told > Runtime.getRuntime.maxMemory))
      provider.close()
    }
  }
}
