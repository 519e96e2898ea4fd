package io.bucketstate

import java.nio.file.{Files, Path}

import scala.util.{Random, Try}

import io.bucketstate.testkit.ProviderHarness._
import io.bucketstate.testkit.{
  CallFault,
  Damage,
  FaultyFileManager,
  ProviderHarness,
  SnapshotBatches,
  TidySuite
}

/** Manifests and runs that are damaged, gone, or were never whole: the right state, or an error. */
class SnapshotDamageSuite extends TidySuite with SnapshotBatches {

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
      victims(harness).foreach(Damage.middleOf)

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
    passedOver("stateStore.autoSnapshotRepair.enabled" -> "false")(Files.delete)
  }

  test("a run that was cut is passed over as the version is opened, and fails no batch") {
    passedOver(
      "stateStore.bucketed.restore.mode" -> "lazy",
      "stateStore.autoSnapshotRepair.enabled" -> "true"
    ) { file =>
      Files.write(file, Files.readAllBytes(file).dropRight(1))
      ()
    }
  }

  /** A restart has the state though what the newest manifest alone names came to harm. */
  private def passedOver(more: (String, String)*)(harm: Path => Unit): Unit = withHarness {
    harness =>
      val settings = inCommit ++ spark(
        "stateStore.bucketed.compaction.maxRuns" -> "20",
        "minBatchesToRetain" -> "20"
      ) ++ spark(more: _*)
      val provider = harness.provider(settings: _*)
      val models = run(provider, 0, 7, Map.empty)
      provider.close()
      val newest = runsOf(harness, 6) -- runsOf(harness, 4)
      assert(newest.nonEmpty)
      newest.foreach(harm)
      assert(restarted(harness, settings, 7) == models(7))
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
      assert(restarted(harness, inCommit, 8) == later.last)
    }
  }

  test("a damaged run is no obstacle to snapshots: the next is written from memory") {
    withHarness { harness =>
      val settings = inCommit ++ spark("stateStore.bucketed.compaction.maxRuns" -> "1")
      val provider = harness.provider(settings: _*)
      val models = run(provider, 0, 4, Map.empty)
      runsOf(harness, 2).foreach(Damage.middleOf)
      val later = run(provider, 4, 9, models.last)
      assert(manifests(harness).last >= 6)
      provider.close()
      (1 to 5).foreach(v => Files.deleteIfExists(harness.file(s"$v.changelog")))
      assert(restarted(harness, settings, 9) == later.last)
    }
  }

  for {
    ids <- Seq(Nil, Seq(Format2))
    (what, harm) <- Seq[(String, ProviderHarness => Unit)](
      "all runs are gone" -> (files(_, ".sst").foreach(Files.delete)),
      "all runs are damaged" -> (files(_, ".sst").foreach(Damage.middleOf)),
      "a changelog since is gone" -> (h => Files.delete(changelogOf(h, 9))),
      "a changelog since was cut" -> { h =>
        val file = changelogOf(h, 9)
        Files.write(file, Files.readAllBytes(file).dropRight(1))
        ()
      }
    )
  } test(
    s"$what and older changelogs deleted, with checkpoint ids ${ids.nonEmpty}: made of memory"
  ) {
    withHarness { harness =>
      val settings = inCommit ++ ids
      val provider = harness.provider(settings: _*)
      var (model, id, version) = (Map.empty: Model, Option.empty[String], 0L)
      def next(keys: Int): Unit = {
        val puts = (0 until keys).map(k => (k.toLong, "k") -> (version, s"$k in $version" * 10))
        val info = attempt(provider, version, id)(puts: _*)()
        model ++= puts
        id = info.stateStoreCkptId
        version = info.batchVersion
        provider.doMaintenance()
      }
      // Few changes to a large state: no snapshot but the first has a reason to write all of it.
      next(2000)
      (1 until 10).foreach(_ => next(5))
      assert(manifests(harness).last == 8)
      assert(changelogsOf(harness).min == 9)
      harm(harness)
      (10 until 20).foreach(_ => next(5))
      assert(manifests(harness).last > 15)
      // It is one that retention trusts.
      assert(changelogsOf(harness).min > 10)
      provider.close()
      val reader = harness.provider(settings: _*)
      try assert(contents(reader.getReadStore(version, id)) == model)
      finally reader.close()
    }
  }

  for (fault <- Seq(CallFault.Throws, CallFault.LosesReply))
    test(s"a run whose upload failed ($fault) is never reused (SPARK-43404, SPARK-46796)") {
      withFaults { (harness, script) =>
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
        assert(restarted(harness, inCommit, 9) == models.last)
      }
    }

  test("what a compaction finds damaged is replaced before the changelogs go that have the state") {
    withHarness { harness =>
      // The state is larger than memory, so that no snapshot can be made of that.
      val settings = spark(
        "stateStore.bucketed.snapshot.maxVersions" -> "2",
        "stateStore.bucketed.compaction.maxRuns" -> "2",
        "stateStore.bucketed.memory.maxBytes" -> "1m",
        "minBatchesToRetain" -> "3",
        "ratioExtraSpaceAllowedInCheckpoint" -> "0"
      )
      val provider = harness.provider(settings: _*)
      var model: Model = Map.empty
      // Of new keys alone: filters rule them out, and no batch reads the file.
      def next(count: Int): Map[String, Long] = {
        val version = model.values.map(_._1).maxOption.fold(0L)(_ + 1)
        val puts = (0 until count).map { n =>
          (version, s"$n") -> (
            version,
            new Random(version * 1000 + n).alphanumeric.take(3000).mkString
          )
        }
        model ++= puts
        val store = provider.getStore(version)
        puts.foreach { case ((a, b), (c, d)) => store.put(key(a, b), value(c, d)) }
        store.commit()
        eventually(assert(version < 4 || manifests(harness).exists(_ >= version - 4)))
        figures(store)
      }
      (0 until 3).foreach(_ => next(200))
      eventually(assert(manifests(harness).nonEmpty))
      val first = manifests(harness).head
      val damaged = runsOf(harness, first).maxBy(Files.size(_))
      Damage.middleOf(damaged)
      assert(Iterator.continually(next(40)).take(60).exists(_("bucketedSnapshotFailures") > 0))
      (0 until 10).foreach { _ =>
        next(40)
        provider.doMaintenance()
      }
      val newest = model.values.map(_._1).max + 1
      assert(!runsOf(harness, manifests(harness).last)(damaged))
      assert(!Files.exists(harness.file("1.changelog")))
      val store = provider.getStore(newest)
      model.foreach { case ((a, b), found) => assert(valueOf(store.get(key(a, b))) == found) }
      store.abort()
      provider.close()
      assert(restarted(harness, settings, newest) == model)
    }
  }

  test("nothing more is committed on top of a run that turns out to be damaged beside the batches") {
    withHarness { harness =>
      val settings = inCommit ++ spark("minBatchesToRetain" -> "20")
      val keys = (0 until 200).map(n => (n.toLong, "k"))
      val model =
        keys.map(k => k -> (k._1, new Random(k._1).alphanumeric.take(3000).mkString)).toMap
      val writer = harness.provider(settings: _*)
      (0 until 4).foreach(v => batch(writer, v.toLong)(model.toSeq: _*)())
      writer.close()
      assert(manifests(harness).last == 2)
      Damage.middleOf(runsOf(harness, 2).maxBy(Files.size(_)))
      (3 to 4).foreach(v => Files.delete(harness.file(s"$v.changelog")))

      val provider = harness.provider(settings: _*)
      def attempt(version: Long): Map[String, Long] = {
        val store = provider.getStore(version)
        try {
          // A get reads one block alone.
          val first = keys.head
          assert(valueOf(store.get(key(first._1, first._2))) == model(first))
          store.commit()
          figures(store)
        } finally if (!store.hasCommitted) store.abort()
      }
      attempt(2)
      // Then the rest is loaded, beside the next batches: what is found fails the batch that is open, if one is.
      val (version, outcome) = Iterator
        .iterate(3L)(_ + 1)
        .take(10000)
        .map(version => version -> Try(attempt(version)))
        .find { case (_, tried) => tried.toOption.forall(_("bucketedRepairs") == 1) }
        .get
      outcome.failed.foreach { failure =>
        // In its commit, or in its get.
        assert(Seq("CANNOT_COMMIT", "CANNOT_LOAD").exists(failure.getMessage.contains(_)), failure)
        assert(!Files.exists(harness.file(s"${version + 1}.changelog")))
        // What is wrong is known to all: a snapshot made meanwhile does without the file, and then nothing is loaded anew.
        val isRepaired = attempt(version)("bucketedRepairs") > 0
        assert(isRepaired || manifests(harness).last > 2)
      }
      assert(contents(provider.getReadStore(version + 1)) == model)
      provider.close()
    }
  }

  private def changelogsOf(harness: ProviderHarness): Seq[Long] =
    files(harness, ".changelog").map(versionOf)

  private def changelogOf(harness: ProviderHarness, version: Long): Path =
    files(harness, ".changelog").filter(versionOf(_) == version).head

  private def versionOf(file: Path): Long =
    file.getFileName.toString.takeWhile(_.isDigit).toLong
}
