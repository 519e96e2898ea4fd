package io.bucketstate

import io.bucketstate.testkit.ProviderHarness._
import io.bucketstate.testkit.{SnapshotBatches, TidySuite}

/** The metric that Spark keeps of each store: the version of its last snapshot. */
class InstanceMetricsSuite extends TidySuite with SnapshotBatches {

  test("the version of a store's last snapshot is reported") {
    withHarness { harness =>
      val provider =
        harness.provider(spark("stateStore.bucketed.snapshot.maxVersions" -> "3"): _*)
      assert(provider.supportedInstanceMetrics.nonEmpty)
      run(provider, 0, 4, Map.empty)
      eventually {
        val store = provider.getStore(4)
        store.commit()
        // It is due at version 3, and is of the newest one when its turn comes.
        val versions = store.metrics.instanceMetrics.values.toSeq
        assert(versions.size == 1 && versions.forall(v => v >= 3 && v <= 5))
      }
      provider.close()
    }
  }
}
