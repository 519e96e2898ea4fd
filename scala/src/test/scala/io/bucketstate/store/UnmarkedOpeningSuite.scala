package io.bucketstate.store

import org.scalatest.concurrent.Eventually
import org.scalatest.time.{Millis, Seconds, Span}

import io.bucketstate.testkit.StoreHarness._
import io.bucketstate.testkit.{StoreHarness, TidySuite}

/** What opens versions for writing and is no batch, as Spark's state reader does: until it commits it changes nothing. */
class UnmarkedOpeningSuite extends TidySuite with Eventually {

  implicit override val patienceConfig: PatienceConfig =
    PatienceConfig(timeout = Span(30, Seconds), interval = Span(10, Millis))

  /** Nine versions, a snapshot of the second, and the next one due: the names of their files. */
  private def grown(harness: StoreHarness): Set[String] = {
    val first =
      harness.open(withIds = false, "snapshot.mode" -> "sync", "snapshot.maxVersions" -> "2")
    (0L until 3L).foreach(n => batch(first, n)(s"key $n" -> Some("value")))
    first.close()
    val second = harness.open(withIds = false)
    (3L until 9L).foreach(n => batch(second, n)(s"key $n" -> Some("value")))
    second.close()
    names(harness)
  }

  private def names(harness: StoreHarness): Set[String] =
    harness.files.listAll().map(_.name).toSet

  private def due(harness: StoreHarness): OpenStore =
    harness.open(withIds = false, "snapshot.maxVersions" -> "4")

  test("a reader writes no snapshot, and tells nobody of one") {
    use { harness =>
      val files = grown(harness)
      val told = harness.told.size
      harness.isOfBatch = false
      val reader = due(harness)
      (1 to 2).foreach { _ =>
        val session = write(reader, 9)
        assert(contents(session.table, 10).size == 9)
        session.abort()
        session.end()
      }
      reader.close()
      assert(names(harness) == files)
      assert(harness.told.drop(told).distinct == Seq("restored"))
    }
  }

  test("a reader lowers no limit of those who write") {
    use { harness =>
      val writer = harness.open(withIds = false, "engine" -> "heap", "memory.maxBytes" -> "7m")
      batch(writer, 0)("a" -> Some("1"))
      val limit = StoreMemory.Tracker.limit
      harness.isOfBatch = false
      val reader = harness.open(withIds = false, "engine" -> "heap", "memory.maxBytes" -> "1m")
      val session = write(reader, 1)
      assert(contents(session.table, 2) == Map("a" -> "1"))
      assert(StoreMemory.Tracker.limit == limit)
      session.abort()
      session.end()
      Seq(writer, reader).foreach(_.close())
    }
  }

  test(
    "a batch that is not marked as one makes its snapshot, and Spark hears of that it goes on from"
  ) {
    use { harness =>
      val files = grown(harness)
      val told = harness.told.size
      harness.isOfBatch = false
      val store = due(harness)
      batch(store, 9)("key" -> Some("value"))
      def heard = harness.told.drop(told).filter(_.startsWith("snapshot "))
      eventually(assert(heard.size == 2, heard))
      assert(heard.toSet == Set("snapshot 2", "snapshot 9"))
      assert((names(harness) -- files).contains("9.manifest"))
      store.close()
    }
  }
}
