package io.bucketstate

import java.nio.file.{Files, Path}

import scala.jdk.CollectionConverters._
import scala.util.Using

import io.bucketstate.testkit.ProviderHarness._
import io.bucketstate.testkit.{Damage, FaultyFileManager, SnapshotBatches, TidySuite}

/** Snapshots as a query meets them: through the provider, its files and its metrics. */
class SnapshotsSuite extends TidySuite with SnapshotBatches {

  test("a snapshot covers the versions Spark has built on, and none above") {
    withHarness { harness =>
      val provider = harness.provider(inCommit: _*)
      run(provider, 0, 7, Map.empty)
      // Version n is committed when version n + 1 is being made.
      assert(manifests(harness) == Seq(2, 4, 6))
      provider.close()
    }
  }

  test("a restart reads the newest manifest and the changelogs after it, and nothing older") {
    withHarness { harness =>
      val provider = harness.provider(inCommit: _*)
      val models = run(provider, 0, 8, Map.empty)
      provider.close()
      (1 to 6).foreach(v => Files.delete(harness.file(s"$v.changelog")))
      files(harness, ".manifest")
        .filterNot(_.getFileName.toString == "6.manifest")
        .foreach(Files.delete)
      val restarted = harness.provider(inCommit: _*)
      Seq(6, 7, 8).foreach(v => assert(contents(restarted.getReadStore(v.toLong)) == models(v)))
      assert(batch(restarted, 8)()() == 9)
      restarted.close()
    }
  }

  for (mode <- Seq("lazy", "eager"))
    test(s"a $mode restore: keys are counted at once, and a batch loads what it touches") {
      withHarness { harness =>
        val provider = harness.provider(inCommit: _*)
        val models = run(provider, 0, 7, Map.empty)
        provider.close()
        val settings = inCommit ++ spark("stateStore.bucketed.restore.mode" -> mode)
        val restarted = harness.provider(settings: _*)
        val store = restarted.getStore(7)
        val (k, v) = models(7).head
        assert(valueOf(store.get(key(k._1, k._2))) == v)
        store.commit()
        assert(store.metrics.numKeys == models(7).size)
        assert(figures(store)("bucketedTableReloads") == 1)
        if (mode == "eager") assert(figures(store)("bucketedLazyLoads") == 0)
        assert(contents(restarted.getReadStore(8)) == models(7))
        restarted.close()
      }
    }

  test(
    "the first get of each bucket after a restart, of keys that are there, removed, or never were"
  ) {
    withHarness { harness =>
      val provider = harness.provider(inCommit: _*)
      val models = run(provider, 0, 10, Map.empty)
      val ever = models.flatMap(_.keys).toSet + ((-1L, "never"))
      // Up to a version with changelogs after the manifest, and to one that is a manifest.
      for {
        version <- Seq(9, 8)
        k <- ever
      } {
        val fresh = harness.provider(inCommit: _*)
        val reader = fresh.getReadStore(version.toLong)
        assert(
          Option(reader.get(key(k._1, k._2))).map(valueOf) == models(version).get(k),
          (version, k)
        )
        assert(
          Option(reader.get(key(k._1, k._2))).map(valueOf) == models(version).get(k),
          (version, k)
        )
        fresh.close()
      }
      provider.close()
    }
  }

  test("snapshots are made beside the batches, and reported") {
    withHarness { harness =>
      val provider =
        harness.provider(spark("stateStore.bucketed.snapshot.maxVersions" -> "3"): _*)
      run(provider, 0, 4, Map.empty)
      eventually(assert(manifests(harness) == Seq(3)))
      val store = eventually {
        val s = provider.getStore(4)
        s.commit()
        assert(figures(s)("bucketedSnapshotLag") == 2)
        s
      }
      assert(figures(store)("bucketedRuns") == 1)
      provider.close()
    }
  }

  test("a snapshot after so many bytes of change") {
    withHarness { harness =>
      val provider = harness.provider(
        spark(
          "stateStore.bucketed.snapshot.maxBytes" -> "200",
          "stateStore.bucketed.snapshot.mode" -> "sync"
        ): _*
      )
      run(provider, 0, 3, Map.empty)
      assert(manifests(harness) == Seq(1, 2))
      provider.close()
    }
  }

  test("forceSnapshotOnCommit: when commit returns, the snapshot of its version is there") {
    withHarness { harness =>
      val provider = harness.provider()
      val models = run(provider, 0, 3, Map.empty)
      val store = ours(provider).getStore(3, None, forceSnapshotOnCommit = true, loadEmpty = false)
      store.commit()
      assert(manifests(harness) == Seq(4))
      assert(figures(store)("bucketedSnapshotLag") == 0)
      provider.close()
      files(harness, ".changelog").foreach(Files.delete)
      val restarted = harness.provider()
      assert(contents(restarted.getReadStore(4)) == models.last)
      restarted.close()
    }
  }

  test("forceSnapshotOnCommit: the batch waits for what has changed, and not for the whole state") {
    withHarness { harness =>
      val many = (0 until 2000).map(n => (n.toLong, "a") -> (1L, s"of some length $n"))
      val provider = harness.provider(inCommit: _*)
      batch(provider, 0)(many: _*)()
      batch(provider, 1)((0L, "a") -> (2L, "x"))()
      batch(provider, 2)((0L, "a") -> (3L, "x"))()
      assert(manifests(harness) == Seq(2L))
      provider.close()
      // As Spark does with each store that it takes to be behind.
      val restarted = harness.provider(inCommit: _*)
      val store = ours(restarted).getStore(3, None, forceSnapshotOnCommit = true, loadEmpty = false)
      store.put(key(1, "a"), value(3, "y"))
      store.commit()
      val found = figures(store)
      assert(found("forceSnapshotCount") == 1)
      assert(manifests(harness) == Seq(2L, 4L))
      assert(found("bucketedRunBytes") * 5 < files(harness, ".sst").map(Files.size(_)).sum)
      restarted.close()
    }
  }

  test("a version that is rewritten after its snapshot is not taken from it") {
    withHarness { harness =>
      val provider = harness.provider(inCommit: _*)
      val models = run(provider, 0, 5, Map.empty)
      assert(manifests(harness) == Seq(2, 4))
      // As after the commit log of batches 3 and 4 was deleted by hand.
      batch(provider, 3)((1L, "new") -> (1L, "history"))()
      val four = models(3) + ((1L, "new") -> (1L, "history"))
      provider.close()
      val restarted = harness.provider(inCommit: _*)
      assert(contents(restarted.getReadStore(4)) == four)
      batch(restarted, 4)((2L, "new") -> (1L, "history"))()
      restarted.close()
      val again = harness.provider(inCommit: _*)
      assert(contents(again.getReadStore(5)) == four + ((2L, "new") -> (1L, "history")))
      again.close()
    }
  }

  test("copies of a remote checkpoint's runs are reused where they are intact, else fetched again") {
    withFaults { (harness, script) =>
      val local = harness.folder.resolveSibling(harness.folder.getFileName.toString + " local")
      val settings = inCommit ++ spark("stateStore.bucketed.localDir" -> local.toString)
      val provider = harness.provider(settings: _*)
      val models = run(provider, 0, 7, Map.empty)
      provider.close()
      def fetches(): Int = {
        val before = script.calls.size
        val p = harness.provider(settings: _*)
        assert(contents(p.getReadStore(7)) == models(7))
        p.close()
        script.calls.drop(before).count(_.matches("open .*\\.sst"))
      }
      try {
        assert(fetches() == 0)
        FaultyFileManager.filesUnder(local).foreach(Damage.middleOf)
        assert(fetches() > 0)
        assert(fetches() == 0)
      } finally deleteAll(local)
    }
  }

  test("nothing is left of a closed provider: no threads, no handles, no working files") {
    withHarness { harness =>
      def working: Set[String] =
        Using.resource(Files.list(Path.of(sys.props("java.io.tmpdir")))) {
          _.iterator.asScala
            .map(_.getFileName.toString)
            .filter(_.matches("bucketstate-[0-9a-f-]{36}"))
            .toSet
        }
      val before = working
      val provider =
        harness.provider(spark("stateStore.bucketed.snapshot.maxVersions" -> "1"): _*)
      run(provider, 0, 12, Map.empty)
      provider.close()
      assert(working == before)
      eventually {
        val names = Thread.getAllStackTraces.keySet.asScala.map(_.getName)
        assert(!names.exists(_.startsWith("bucketstate-")), names)
      }
    }
  }
}
