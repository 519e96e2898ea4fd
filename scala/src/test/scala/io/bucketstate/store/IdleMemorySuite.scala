package io.bucketstate.store

import java.time.Clock
import java.util.UUID
import java.util.concurrent.TimeUnit.MINUTES

import io.bucketstate.background.{ClocksAndIds, Ticker}
import io.bucketstate.checkpoint.records.KnownFamilies
import io.bucketstate.testkit.StoreHarness._
import io.bucketstate.testkit.{Changes, MemoryFileStore, StoreHarness, TempFolder, TidySuite}

/** What `memory.preventEvictionFor` keeps when no batch comes any more. */
class IdleMemorySuite extends TidySuite {

  private object ticker extends Ticker {
    @volatile var minutes = 0L
    override def nanos: Long = MINUTES.toNanos(minutes)
  }

  private def partsOf(harness: StoreHarness): StoreParts =
    new StoreParts(
      harness.files,
      new KnownFamilies(Changes.descriptor(0), others = false, None, countsExactly = true),
      harness.configOf(
        withIds = false,
        Seq("engine" -> "heap", "memory.preventEvictionFor" -> "600000")
      ),
      ClocksAndIds(Clock.systemUTC(), ticker, () => UUID.randomUUID()),
      harness,
      isNeeded = () => false
    )

  test("a store that no batch comes to gives memory back for others when that time is over") {
    TempFolder.use { folder =>
      val harness = new StoreHarness(new MemoryFileStore, folder)
      val first =
        harness.open(withIds = false, "snapshot.mode" -> "sync", "snapshot.maxVersions" -> "1")
      batch(first, 0)((0 until 1000).map(n => s"key $n" -> Some("value")): _*)
      batch(first, 1)("key 1" -> Some("other"))
      first.close()
      val parts = partsOf(harness)
      parts.memory.opening()
      val table = parts.keeper.openForWrite(1, None).table
      assert(contents(table, 1).size == 1000)
      parts.keeper.aborted(table)
      val before = parts.keeper.memoryBytes
      parts.memory.committed(table)

      ticker.minutes = 9
      parts.memory.shrink(Long.MaxValue)
      assert(parts.keeper.memoryBytes == before)
      ticker.minutes = 11
      parts.memory.shrink(Long.MaxValue)
      assert(parts.keeper.memoryBytes < before / 4)
      parts.lock.close()
      harness.close()
    }
  }
}
