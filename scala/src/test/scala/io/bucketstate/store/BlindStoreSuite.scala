package io.bucketstate.store

import scala.collection.mutable
import scala.util.Random

import io.bucketstate.checkpoint.io.{Attempt, CheckpointFiles, ManifestName}
import io.bucketstate.checkpoint.manifest.{Manifest, Manifests}
import io.bucketstate.config.MetricKey
import io.bucketstate.record.Expiry
import io.bucketstate.table.FamilyState
import io.bucketstate.testkit.StoreHarness._
import io.bucketstate.testkit.{MemoryFileStore, ShortMemory, StoreHarness, TempFolder, TidySuite}

/** A store that does not look up what it writes, and whose keys are counted or not. */
class BlindStoreSuite extends TidySuite {
  private type Model = Map[String, String]

  private val small = Seq(
    "snapshot.mode" -> "sync",
    "snapshot.maxVersions" -> "2",
    "compaction.maxRuns" -> "3",
    "run.maxFileBytes" -> "1k"
  )

  private def setting(exact: Boolean) = small :+ ("exactKeyCount" -> exact.toString)

  private def someChanges(random: Random): Map[String, Option[String]] =
    Seq
      .fill(30)(
        s"key-${random.nextInt(400)}" -> Option.when(random.nextInt(3) > 0)(random.nextString(20))
      )
      .toMap

  private def familyOf(session: WriteSession): FamilyState = session.table.families.head

  for (seed <- 1 to 6)
    test(
      s"whatever is written blind, each version is what its model is, restarted and not, seed $seed"
    ) {
      ShortMemory.during(TempFolder.use { folder =>
        val random = new Random(seed.toLong)
        val files = new MemoryFileStore
        val harness = new StoreHarness(files, folder)
        var exact = random.nextBoolean()
        var store = harness.open(withIds = false, setting(exact): _*)
        val models = mutable.ArrayBuffer[Model](Map.empty)
        var (uncounted, restarts) = (0, 0)
        for (_ <- 1 to 120) {
          val version = models.size - 1L
          val changes = someChanges(random)
          val session = batch(store, version)(changes.toSeq: _*)
          val now =
            changes.foldLeft(models.last) { case (model, (k, v)) => model.updatedWith(k)(_ => v) }
          models += now
          val count = familyOf(session).keyCount
          if (count.isEmpty) uncounted += 1
          assert(count.forall(_ == now.size), s"after ${version + 1}")
          assert(read(store, version + 1) == now && read(store, version) == models(version.toInt))
          if (random.nextInt(12) == 0) {
            // An attempt that is given up, another one that replaces the newest version.
            val other = write(store, version)
            change(other, someChanges(random).toSeq: _*)
            other.abort()
            other.end()
            assert(read(store, version) == models(version.toInt))
            batch(store, version)(changes.toSeq: _*)
          }
          if (random.nextInt(20) == 0) {
            store.close()
            exact = !exact
            restarts += 1
            store = harness.open(withIds = false, setting(exact): _*)
          }
        }
        assert(uncounted > 0 && restarts > 0)
        store.close()
        val again = harness.open(withIds = false)
        (100 to 120).foreach(v => assert(read(again, v.toLong) == models(v)))
        again.close()
      })
    }

  /** The next version, and the model of it. */
  private def more(store: OpenStore, random: Random, models: Seq[Model]): (WriteSession, Model) = {
    val changes = someChanges(random)
    val session = batch(store, models.size - 1L)(changes.toSeq: _*)
    session -> changes.foldLeft(models.last) { case (m, (k, v)) => m.updatedWith(k)(_ => v) }
  }

  /** A store whose keys are not counted, and its state at the versions up to the one that it has come to. */
  private def uncounted(harness: StoreHarness): Seq[Model] = ShortMemory.during {
    val random = new Random(7)
    val store = harness.open(withIds = false, setting(exact = false): _*)
    val models = mutable.ArrayBuffer[Model](Map.empty)
    var isCounted = true
    while (models.size <= 20 || isCounted) {
      val (session, model) = more(store, random, models.toSeq)
      models += model
      isCounted = familyOf(session).keyCount.isDefined
    }
    store.close()
    models.toSeq
  }

  private def withStore(body: (MemoryFileStore, StoreHarness, java.nio.file.Path) => Unit): Unit =
    TempFolder.use { folder =>
      val files = new MemoryFileStore
      body(files, new StoreHarness(files, folder), folder)
    }

  private def figures(store: OpenStore, version: Long): StoreFigures = {
    val session = write(store, version)
    try session.commit()
    finally session.end()
  }

  test("blind writes look nothing up, and the figures say that keys are not counted") {
    withStore { (_, harness, _) =>
      val version = uncounted(harness).size - 1L
      ShortMemory.during {
        val store = harness.open(withIds = false, setting(exact = false): _*)
        batch(store, version)()
        val session = write(store, version + 1)
        change(session, someChanges(new Random(8)).toSeq: _*)
        val values = session.commit().values
        session.end()
        assert(values(MetricKey.ColdReads) == 0 && values(MetricKey.ColdBuckets) > 0)
        assert(values(MetricKey.Uncounted) == 1 && values(MetricKey.ChangedKeys) > 0)
        store.close()
      }
    }
  }

  test("a restart that loads all of it knows the number again") {
    withStore { (_, harness, _) =>
      val models = uncounted(harness)
      val store =
        harness.open(withIds = false, setting(exact = true) :+ ("restore.mode" -> "eager"): _*)
      val first = figures(store, models.size - 1L)
      assert(first.values(MetricKey.Uncounted) == 0 && first.keys == models.last.size)
      store.close()
    }
  }

  test("where keys are not counted, the figures have the number at the last snapshot that counted") {
    withStore { (files, harness, _) =>
      val models = mutable.ArrayBuffer.from(uncounted(harness))
      ShortMemory.during {
        val random = new Random(9)
        var store = harness.open(withIds = false, setting(exact = false): _*)
        var (old, counts) = (0, Set.empty[Long])
        for (n <- 1 to 100) {
          models += more(store, random, models.toSeq)._2
          val now = figures(store, models.size - 1L)
          models += models.last
          if (now.values(MetricKey.Uncounted) == 0) assert(now.keys == models.last.size)
          else {
            val of = newestManifest(files).lastCount(0).get
            assert(now.keys == of.keys && of.keys == models(of.version.toInt).size)
            old += 1
            counts += of.version
          }
          if (n % 15 == 0) {
            store.close()
            store = harness.open(withIds = false, setting(exact = false): _*)
          }
        }
        assert(old > 50 && counts.size > 2)
        store.close()
      }
    }
  }

  private def newestManifest(files: MemoryFileStore): Manifest = {
    val names = files.list().flatMap(f => CheckpointFiles.parse(f.name)).collect {
      case m: ManifestName => m
    }
    new Manifests(files).read(names.maxBy(_.attempt.version))
  }

  test("where state is to age out from now on, its keys are counted first") {
    withStore { (files, harness, folder) =>
      val models = uncounted(harness)
      val (version, model) = (models.size - 1L, models.last)
      val expiry = Expiry(10L, Some(1000000000L), byProcessingTime = true)
      val ageing = new StoreHarness(files, folder, Some(expiry))
      for (isShort <- Seq(true, false)) ShortMemory.when(isShort) {
        val store = ageing.open(withIds = false, setting(exact = false): _*)
        val reader = store.openForRead(Attempt(version))
        val family = reader.table.families.head
        assert(family.keyCount == Some(model.size))
        reader.end()
        store.close()
      }
      val store = ageing.open(withIds = false, setting(exact = false): _*)
      val session = batch(store, version)("one more" -> Some("1"))
      assert(familyOf(session).keyCount == Some(model.size + 1))
      assert(familyOf(session).records(version + 1).size == model.size + 1)
      store.close()
    }
  }
}
