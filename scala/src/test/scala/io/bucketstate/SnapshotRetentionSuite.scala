package io.bucketstate

import java.nio.file.Files

import org.apache.spark.sql.execution.streaming.state.StateStoreProvider

import io.bucketstate.testkit.ProviderHarness._
import io.bucketstate.testkit.{Damage, FaultyFileManager, SnapshotBatches, TidySuite}

/** What maintenance leaves of a store's folder, and that what is kept can be restored. */
class SnapshotRetentionSuite extends TidySuite with SnapshotBatches {

  test("retention keeps what the retained versions need, and the folder stops growing") {
    withHarness { harness =>
      val provider = harness.provider(inCommit: _*)
      var models = Seq[Model](Map.empty)
      val sizes = (0 until 60 by 6).map { n =>
        models = models.init ++ run(provider, n, n + 6, models.last)
        provider.doMaintenance()
        assert(files(harness, ".changelog").size <= 5)
        FaultyFileManager.filesUnder(harness.storeFolder).size
      }
      assert(sizes.drop(3).max <= sizes.slice(2, 4).max + 4, sizes)
      provider.close()
      val restarted = harness.provider(inCommit: _*)
      Seq(58, 59, 60).foreach(v => assert(contents(restarted.getReadStore(v.toLong)) == models(v)))
      restarted.close()
    }
  }

  for (isFollowed <- Seq(false, true))
    test(
      "retention and restart do not trust a manifest whose version was written again, " +
        s"the next one being there $isFollowed"
    ) {
      withHarness { harness =>
        val conf = spark(
          "minBatchesToRetain" -> "1",
          "ratioExtraSpaceAllowedInCheckpoint" -> "0",
          "stateStore.bucketed.snapshot.maxVersions" -> "1000"
        )
        val (mine, other) = (harness.provider(conf: _*), harness.provider(conf: _*))
        run(mine, 0, 3, Map.empty)
        val store = ours(mine).getStore(3, None, forceSnapshotOnCommit = true, loadEmpty = false)
        store.put(key(1, "a"), value(1, "mine"))
        assert(store.commit() == 4)
        assert(manifests(harness) == Seq(4L))
        // An attempt that comes to nothing, and says of the manifest that it is the right one.
        if (isFollowed) assert(batch(mine, 4)((2L, "b") -> (2L, "mine"))() == 5)
        batch(other, 3)((1L, "a") -> (1L, "theirs"))()
        other.close()

        val late = mine.getStore(4) // Spark asks for 4; whose it is, only the file knows
        mine.doMaintenance()
        late.abort()
        mine.close()

        val restarted = harness.provider(conf: _*)
        val read = restarted.getReadStore(4)
        assert(valueOf(read.get(key(1, "a"))) == (1L, "theirs"))
        ours(read).release()
        restarted.close()
      }
    }

  test("retention with checkpoint ids, also when the query was restarted meanwhile") {
    withHarness { harness =>
      val settings = inCommit :+ Format2
      var provider = harness.provider(settings: _*)
      var id = Option.empty[String]
      (0 until 40).foreach { n =>
        val info = attempt(provider, n.toLong, id)((n % 9L, "k") -> (n.toLong, "v" * 50))()
        id = info.stateStoreCkptId
        if (n % 5 == 4) provider.doMaintenance()
        if (n % 7 == 6) {
          provider.close()
          provider = harness.provider(settings: _*)
        }
      }
      provider.doMaintenance()
      assert(files(harness, ".changelog").size <= 8)
      assert(files(harness, ".manifest").size <= 4)
      assert(contents(provider.getReadStore(40, id)).size == 9)
      provider.close()
    }
  }

  test(
    "with checkpoint ids a damaged changelog that nothing needs keeps nothing from being deleted"
  ) {
    withHarness { harness =>
      val settings = inCommit :+ Format2
      var id = Option.empty[String]
      def batches(provider: StateStoreProvider, from: Int, until: Int): Unit =
        (from until until).foreach { n =>
          id = attempt(provider, n.toLong, id)((n % 9L, "k") -> (n.toLong, "v"))().stateStoreCkptId
        }
      val provider = harness.provider(settings: _*)
      batches(provider, 0, 9)
      provider.close()
      assert(manifests(harness).max == 8)
      val second = files(harness, ".changelog").find(_.getFileName.toString.startsWith("2_")).get
      Damage.at(second, 20)
      val restarted = harness.provider(settings: _*)
      batches(restarted, 9, 12)
      restarted.doMaintenance()
      assert(files(harness, ".changelog").size <= 5 && !Files.exists(second))
      assert(contents(restarted.getReadStore(12, id)).size == 9)
      restarted.close()
    }
  }
}
