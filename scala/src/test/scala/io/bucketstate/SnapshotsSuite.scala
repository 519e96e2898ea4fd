package io.bucketstate
import java.nio.file.{Files, Path}
import java.util.concurrent.{CountDownLatch, TimeUnit}

import scala.jdk.CollectionConverters._
import scala.util.{Random, Try, Using}

import org.apache.spark.SparkException
import org.apache.spark.sql.execution.streaming.state._
import org.scalatest.concurrent.Eventually
import org.scalatest.funsuite.AnyFunSuite
import org.scalatest.time.{Millis, Seconds, Span}

import io.bucketstate.checkpoint.io.{Attempt, ManifestName, NioFileStore}
import io.bucketstate.checkpoint.manifest.Manifests
import io.bucketstate.store.BackgroundPool
import io.bucketstate.testkit.ProviderHarness._
import io.bucketstate.testkit.{CallFault, FaultyFileManager, ProviderHarness}

/** Snapshots as a query meets them: through the provider, its files and its metrics. */
class SnapshotsSuite extends AnyFunSuite with Eventually {
  private type Model = Map[(Long, String), (Long, String)]

  implicit override val patienceConfig: PatienceConfig =
    PatienceConfig(timeout = Span(60, Seconds), interval = Span(20, Millis))

  private def spark(settings: (String, String)*): Seq[(String, String)] =
    settings.map { case (k, v) => s"spark.sql.streaming.$k" -> v }

  private val inCommit = spark(
    "stateStore.bucketed.snapshot.mode" -> "sync",
    "stateStore.bucketed.snapshot.maxVersions" -> "2",
    "stateStore.bucketed.compaction.maxRuns" -> "3",
    "minBatchesToRetain" -> "2",
    "ratioExtraSpaceAllowedInCheckpoint" -> "0"
  )

  /** Batch n changes some keys and removes one; returns the state after each version. */
  private def run(provider: StateStoreProvider, from: Int, until: Int, start: Model): Seq[Model] =
    (from until until).scanLeft(start) { (model, n) =>
      val puts = (0 until 30).map { i =>
        val k = ((n * 7 + i) % 50L, s"key ${(n * 11 + i) % 40}")
        k -> (n.toLong, "v" * (20 + i))
      }
      val gone = model.keys.toSeq.sorted.take(1)
      batch(provider, n.toLong)(puts: _*)(gone: _*)
      (model ++ puts) -- gone
    }

  /** A checkpoint that is reached through Spark's file manager, as on an object store. */
  private def remote(folder: Path) = new ProviderHarness(
    folder,
    hadoop = FaultyFileManager.configure
  )

  private def files(harness: ProviderHarness, ending: String): Seq[Path] =
    FaultyFileManager.filesUnder(harness.storeFolder).filter(_.toString.endsWith(ending))

  private def manifests(harness: ProviderHarness): Seq[Long] =
    files(harness, ".manifest").map(_.getFileName.toString.takeWhile(_.isDigit).toLong).sorted

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
      assert(provider.supportedInstanceMetrics.nonEmpty)
      run(provider, 0, 4, Map.empty)
      eventually(assert(manifests(harness) == Seq(3)))
      val store = eventually {
        val s = provider.getStore(4)
        s.commit()
        assert(s.metrics.instanceMetrics.values.toSeq == Seq(3L))
        s
      }
      assert(figures(store)("bucketedRuns") == 1)
      assert(figures(store)("bucketedSnapshotLag") == 2)
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
      val store = provider.getStore(3, None, forceSnapshotOnCommit = true)
      store.commit()
      assert(manifests(harness) == Seq(4))
      assert(store.metrics.instanceMetrics.values.toSeq == Seq(4L))
      provider.close()
      files(harness, ".changelog").foreach(Files.delete)
      val restarted = harness.provider()
      assert(contents(restarted.getReadStore(4)) == models.last)
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

  test("retention and restart do not trust a manifest whose version was written again") {
    withHarness { harness =>
      val conf = spark(
        "minBatchesToRetain" -> "1",
        "ratioExtraSpaceAllowedInCheckpoint" -> "0",
        "stateStore.bucketed.snapshot.maxVersions" -> "1000"
      )
      val (mine, other) = (harness.provider(conf: _*), harness.provider(conf: _*))
      run(mine, 0, 3, Map.empty)
      val store = mine.getStore(3, None, forceSnapshotOnCommit = true, loadEmpty = false)
      store.put(key(1, "a"), value(1, "mine"))
      assert(store.commit() == 4)
      assert(manifests(harness) == Seq(4L))
      batch(other, 3)((1L, "a") -> (1L, "theirs"))()
      other.close()

      val late = mine.getStore(4) // Spark asks for 4; whose it is, only the file knows
      mine.doMaintenance()
      late.abort()
      mine.close()

      val restarted = harness.provider(conf: _*)
      val read = restarted.getReadStore(4)
      assert(valueOf(read.get(key(1, "a"))) == (1L, "theirs"))
      read.release()
      restarted.close()
    }
  }

  test("a store that lives for one batch lists its folder with every so-manieth version alone") {
    withFolder { folder =>
      FaultyFileManager.script(folder) { script =>
        val harness = new ProviderHarness(folder, hadoop = FaultyFileManager.configure)
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

  private def damage(file: Path): Unit = {
    val bytes = Files.readAllBytes(file)
    bytes(bytes.length / 2) = (bytes(bytes.length / 2) ^ 0x40).toByte
    Files.write(file, bytes)
    ()
  }

  private def runsOf(harness: ProviderHarness, version: Long): Set[Path] = {
    val store = new NioFileStore(harness.storeFolder)
    new Manifests(store).read(ManifestName(Attempt(version))).fileNames.map(harness.file)
  }

  for {
    mode <- Seq("lazy", "eager")
    (what, victims) <- Seq[(String, ProviderHarness => Set[Path])](
      "manifest" -> (h => Set(h.file("6.manifest"))),
      "run" -> (h => runsOf(h, 6) -- runsOf(h, 4))
    )
  } test(s"a damaged newest $what, $mode restore: repaired where Spark allows it, else an error") {
    withHarness { harness =>
      val plain = inCommit ++ spark(
        "stateStore.bucketed.restore.mode" -> mode,
        "stateStore.bucketed.compaction.maxRuns" -> "20",
        "minBatchesToRetain" -> "20"
      )
      val provider = harness.provider(plain: _*)
      val models = run(provider, 0, 7, Map.empty)
      provider.close()
      assert(victims(harness).nonEmpty)
      victims(harness).foreach(damage)

      val strict =
        harness.provider(plain ++ spark("stateStore.autoSnapshotRepair.enabled" -> "false"): _*)
      val error = intercept[Exception](contents(strict.getReadStore(7)))
      assert(error.getMessage.contains("CANNOT_READ_STREAMING_STATE_FILE"), error)
      strict.close()

      val repairing =
        harness.provider(plain ++ spark("stateStore.autoSnapshotRepair.enabled" -> "true"): _*)
      // A lazy restore may meet the damage when a task touches it: that attempt fails, its retry does not.
      val store = eventually {
        val opened = repairing.getStore(7)
        try assert(contents(opened) == models(7))
        catch {
          case e: Throwable =>
            opened.abort()
            throw e
        }
        opened
      }
      store.commit()
      assert(figures(store)("bucketedRepairs") == 1)
      repairing.close()
    }
  }

  for (repair <- Seq(true, false))
    test(s"any file flipped or truncated: the right state or an error, repair $repair") {
      withHarness { harness =>
        val settings = inCommit ++ spark(
          "minBatchesToRetain" -> "20",
          "stateStore.autoSnapshotRepair.enabled" -> repair.toString
        )
        val provider = harness.provider(settings: _*)
        val model = run(provider, 0, 9, Map.empty).last
        provider.close()
        val random = new Random(11)
        var healed, refused = 0
        FaultyFileManager.filesUnder(harness.storeFolder).foreach { file =>
          val good = Files.readAllBytes(file)
          val bad = Seq.fill(6) {
            val at = random.nextInt(good.length)
            good.updated(at, (good(at) ^ (1 << random.nextInt(8))).toByte)
          } ++ Seq(0, random.nextInt(good.length), good.length - 1).map(good.take)
          bad.foreach { bytes =>
            Files.write(file, bytes)
            val reader = harness.provider(settings: _*)
            // The first attempt may be the one that finds the damage.
            val found = Iterator.fill(2)(Try(contents(reader.getReadStore(9)))).find(_.isSuccess)
            found match {
              case Some(state) =>
                assert(state.get == model, file)
                healed += 1
              case None => refused += 1
            }
            reader.close()
          }
          Files.write(file, good)
        }
        assert(healed > 0 && refused > 0)
      }
    }

  test("a run that is gone is passed over for an older manifest, whoever deleted it (SPARK-55892)") {
    withHarness { harness =>
      val settings = inCommit ++ spark(
        "stateStore.bucketed.compaction.maxRuns" -> "20",
        "minBatchesToRetain" -> "20",
        "stateStore.autoSnapshotRepair.enabled" -> "false"
      )
      val provider = harness.provider(settings: _*)
      val models = run(provider, 0, 7, Map.empty)
      provider.close()
      (runsOf(harness, 6) -- runsOf(harness, 4)).foreach(Files.delete)
      val restarted = harness.provider(settings: _*)
      assert(contents(restarted.getReadStore(7)) == models(7))
      restarted.close()
    }
  }

  test(
    "a run deleted before a manifest that reuses it is written: that one is not published (SPARK-55892)"
  ) {
    withHarness { harness =>
      val provider = harness.provider(inCommit: _*)
      val models = run(provider, 0, 4, Map.empty)
      assert(manifests(harness) == Seq(2))
      runsOf(harness, 2).foreach(Files.delete)
      val failing = provider.getStore(4)
      failing.commit()
      assert(figures(failing)("bucketedSnapshotFailures") == 1)
      assert(manifests(harness) == Seq(2))
      val later = run(provider, 5, 8, models.last)
      assert(manifests(harness).last >= 5)
      manifests(harness).drop(1).foreach(v => assert(runsOf(harness, v).forall(Files.exists(_))))
      provider.close()
      val restarted = harness.provider(inCommit: _*)
      assert(contents(restarted.getReadStore(8)) == later.last)
      restarted.close()
    }
  }

  test("a damaged run is no obstacle to snapshots: the next is written from memory") {
    withHarness { harness =>
      val settings = inCommit ++ spark("stateStore.bucketed.compaction.maxRuns" -> "1")
      val provider = harness.provider(settings: _*)
      val models = run(provider, 0, 4, Map.empty)
      runsOf(harness, 2).foreach(damage)
      val later = run(provider, 4, 9, models.last)
      assert(manifests(harness).last >= 6)
      provider.close()
      (1 to 5).foreach(v => Files.deleteIfExists(harness.file(s"$v.changelog")))
      val restarted = harness.provider(settings: _*)
      assert(contents(restarted.getReadStore(9)) == later.last)
      restarted.close()
    }
  }

  for (fault <- Seq(CallFault.Throws, CallFault.LosesReply))
    test(s"a run whose upload failed ($fault) is never reused (SPARK-43404, SPARK-46796)") {
      withFolder { folder =>
        FaultyFileManager.script(folder) { script =>
          val harness = remote(folder)
          val provider = harness.provider(inCommit: _*)
          val first = run(provider, 0, 2, Map.empty)
          script.failNext("publish .*\\.sst", fault)
          val failing = provider.getStore(2)
          failing.commit()
          assert(figures(failing)("bucketedSnapshotFailures") == 1)
          assert(manifests(harness).isEmpty)
          val models = run(provider, 3, 9, first.last)
          val named = manifests(harness).flatMap(v => runsOf(harness, v)).toSet
          assert(named.nonEmpty && named.forall(Files.exists(_)))
          provider.close()
          val restarted = harness.provider(inCommit: _*)
          assert(contents(restarted.getReadStore(9)) == models.last)
          restarted.close()
        }
      }
    }

  test("nothing is committed on top of a run that turns out to be damaged beside the batches") {
    withHarness { harness =>
      val settings = inCommit ++ spark("minBatchesToRetain" -> "20")
      val keys = (0 until 200).map(n => (n.toLong, "k"))
      val model =
        keys.map(k => k -> (k._1, new Random(k._1).alphanumeric.take(3000).mkString)).toMap
      val writer = harness.provider(settings: _*)
      (0 until 4).foreach(v => batch(writer, v.toLong)(model.toSeq: _*)())
      writer.close()
      assert(manifests(harness).last == 2)
      damage(runsOf(harness, 2).maxBy(Files.size(_)))
      (3 to 4).foreach(v => Files.delete(harness.file(s"$v.changelog")))

      val provider = harness.provider(settings: _*)
      def attempt(): Map[String, Long] = {
        val store = provider.getStore(2)
        try {
          // The first get of a bucket reads one block alone; then the rest is loaded beside the batch.
          val first = keys.head
          assert(valueOf(store.get(key(first._1, first._2))) == model(first))
          val loaded = new CountDownLatch(1)
          BackgroundPool.submit(() => loaded.countDown())
          assert(loaded.await(60, TimeUnit.SECONDS))
          store.commit()
          figures(store)
        } finally if (!store.hasCommitted) store.abort()
      }
      val error = intercept[SparkException](attempt())
      assert(error.getMessage.contains("CANNOT_COMMIT"))
      assert(!Files.exists(harness.file("3.changelog")))
      val retry = attempt()
      assert(retry("bucketedRepairs") == 1 && retry("bucketedWarmUpFailures") == 1)
      assert(contents(provider.getReadStore(3)) == model)
      provider.close()
    }
  }

  test("copies of a remote checkpoint's runs are reused where they are intact, else fetched again") {
    withFolder { folder =>
      FaultyFileManager.script(folder) { script =>
        val local = folder.resolveSibling(folder.getFileName.toString + " local")
        val harness = remote(folder)
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
          FaultyFileManager.filesUnder(local).foreach(damage)
          assert(fetches() > 0)
          assert(fetches() == 0)
        } finally deleteAll(local)
      }
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
