package io.bucketstate.store

import java.time.Clock
import java.util.UUID

import io.bucketstate.background.{ClocksAndIds, Ticker}
import io.bucketstate.checkpoint.records.KnownFamilies
import io.bucketstate.config.StoreConfig
import io.bucketstate.error.InvalidException
import io.bucketstate.testkit.{Changes, StoreHarness, TidySuite}

/** What a batch may change with `engine=rocksdb`: it lies in the heap, however much memory there is outside of it. */
class ChangesInHeapSuite extends TidySuite {
  private val halfHeap = Runtime.getRuntime.maxMemory / 2

  /** @param memory of all state */
  private def withStore(memory: String)(body: (StoreMemory, Long) => Unit): Unit =
    StoreHarness.use { harness =>
      val settings = Seq("engine" -> "rocksdb", "memory.maxBytes" -> memory)
      val config: StoreConfig = harness.configOf(withIds = false, settings)
      val parts = new StoreParts(
        harness.files,
        new KnownFamilies(Changes.descriptor(0), others = false, None, countsExactly = true),
        config,
        ClocksAndIds(Clock.systemUTC(), Ticker.System, () => UUID.randomUUID()),
        harness,
        isNeeded = () => false
      )
      parts.memory.opening()
      try body(parts.memory, StoreMemory.mostUnwritten(config, harness))
      finally parts.lock.close()
    }

  test("a batch that the heap has no room for is refused, where outside of it there would be room") {
    withStore("1000g") { (memory, mostUnwritten) =>
      memory.requireRoom(halfHeap)
      val refused = intercept[InvalidException](memory.requireRoom(halfHeap + 1))
      assert(refused.getMessage.contains(s"$halfHeap bytes of this executor's heap"))
      assert(
        refused.getMessage.contains("half of its") && refused.remedy.contains(
          "spark.executor.memory"
        )
      )
      assert(mostUnwritten == halfHeap / 4)
    }
  }

  test("one that is more than all state may take is refused in that setting's name") {
    withStore("8m") { (memory, mostUnwritten) =>
      memory.requireRoom(8L << 20)
      val refused = intercept[InvalidException](memory.requireRoom((8L << 20) + 1))
      assert(refused.getMessage.contains("memory.maxBytes=8388608"))
      assert(refused.remedy.contains("raise that setting"))
      assert(mostUnwritten == (2L << 20))
    }
  }
}
