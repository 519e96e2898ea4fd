package io.bucketstate

import java.nio.file.Files

import io.bucketstate.config.MetricKey
import io.bucketstate.testkit.ProviderHarness._
import io.bucketstate.testkit.TidySuite

class MetricsSuite extends TidySuite {

  test("a commit reports exact keys, what it changed and wrote, and where the version came from") {
    withHarness { harness =>
      val provider = harness.provider()
      def commit(version: Long, puts: Int): Map[String, Long] = {
        val store = provider.getStore(version)
        (1 to puts).foreach(n => store.put(key(n.toLong, "k"), value(n.toLong, "v" * 50)))
        store.put(key(1, "k"), value(0, "again")) // the last write per key counts
        store.commit()
        assert(store.metrics.numKeys == 100)
        assert(store.metrics.memoryUsedBytes > 100 * 60)
        figures(store)
      }
      val first = commit(0, 100)
      assert(first.keySet == MetricKey.all.map(_.name).toSet)
      assert(provider.supportedCustomMetrics.map(_.name) == MetricKey.all.map(_.name))
      assert(first("bucketedChangedKeys") == 100)
      assert(first("bucketedChangelogBytes") == Files.size(harness.file("1.changelog")))
      assert(first("bucketedTableReloads") == 1 && first("bucketedTableHits") == 0)
      val second = commit(1, 10)
      assert(second("bucketedChangedKeys") == 10)
      assert(second("bucketedTableHits") == 1 && second("bucketedTableReloads") == 0)
      val again = commit(1, 20)
      assert(again("bucketedTableReopens") == 1)
      provider.close()
    }
  }

  test("an empty batch commits a tiny file and keeps the key count") {
    withHarness { harness =>
      val provider = harness.provider()
      batch(provider, 0)((1L, "a") -> (1L, "one"))()
      val store = provider.getStore(1)
      assert(store.commit() == 2)
      assert(store.metrics.numKeys == 1)
      assert(Files.size(harness.file("2.changelog")) < 400)
      provider.close()
      val restarted = harness.provider()
      assert(contents(restarted.getReadStore(2)) == Map((1L, "a") -> (1L, "one")))
      restarted.close()
    }
  }

  test("a store that is written to tells its keys, and keeps its figures for the end") {
    withHarness { harness =>
      val provider = harness.provider()
      val store = provider.getStore(0)
      (1 to 3).foreach(n => store.put(key(n.toLong, "k"), value(0, "")))
      store.remove(key(2, "k"))
      assert(store.metrics.numKeys == 2)
      store.commit()
      assert(store.metrics.numKeys == 2)
      assert(store.metrics.customMetrics.exists { case (metric, n) =>
        metric.name == "bucketedChangedKeys" && n == 2
      })
      val next = provider.getStore(1)
      next.remove(key(1, "k"))
      assert(next.metrics.numKeys == 1)
      next.abort()
      assert(next.metrics.numKeys == 2)
      provider.close()
    }
  }

  test("a load is reported also when the task's read store made it") {
    withHarness { harness =>
      val first = harness.provider()
      batch(first, 0)((1L, "a") -> (1L, "one"))()
      first.close()
      val provider = harness.provider()
      def reloads(version: Long): Long = {
        val reader = provider.getReadStore(version)
        val store = ours(provider)
          .upgradeReadStoreToWriteStore(reader, version, None, forceSnapshotOnCommit = false)
        store.commit()
        ours(reader).release()
        val found = figures(store)
        assert(found("bucketedTableHits") + found("bucketedTableReloads") == 1)
        found("bucketedTableReloads")
      }
      assert(reloads(1) == 1)
      assert(reloads(2) == 0)
      provider.close()
    }
  }
}
