package io.bucketstate

import io.bucketstate.testkit.ProviderHarness._
import io.bucketstate.testkit.{SnapshotBatches, TidySuite}

/** Stores that are unloaded with each commit, which Spark 4.0 has no setting for: each lives for one batch. */
class OneBatchStoresSuite extends TidySuite with SnapshotBatches {

  test("a store that lives for one batch lists its folder with every so-manieth version alone") {
    withFaults { (harness, script) =>
      val conf = spark(
        "stateStore.unloadOnCommit" -> "true",
        "minBatchesToRetain" -> "10",
        "stateStore.bucketed.snapshot.maxVersions" -> "1000" // snapshots list as well
      )
      def lists = script.calls.count(_.startsWith("list runs"))
      val each = (0 until 12).map { n =>
        val before = lists
        val provider = harness.provider(conf: _*)
        batch(provider, n.toLong)((1L, "a") -> (n.toLong, "x"))()
        provider.doMaintenance()
        provider.close()
        lists - before
      }
      assert(each.count(_ > 0) == 4, s"minVersionsToDelete is 0.3 x 10: $each")
    }
  }

  test("stores that live for one batch finish the snapshots that became due in it") {
    withHarness { harness =>
      val conf = spark(
        "stateStore.unloadOnCommit" -> "true",
        "stateStore.bucketed.snapshot.maxVersions" -> "3"
      )
      (0 until 10).foreach { n =>
        val provider = harness.provider(conf: _*)
        batch(provider, n.toLong)(((n % 4).toLong, "a") -> (n.toLong, "x"))()
        provider.doMaintenance()
        provider.close()
      }
      assert(manifests(harness) == Seq(3L, 6L, 9L))
      val provider = harness.provider(conf: _*)
      assert(contents(provider.getReadStore(10)).size == 4)
      provider.close()
    }
  }
}
