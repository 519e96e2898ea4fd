package io.bucketstate.store

import scala.collection.mutable
import scala.util.Random

import org.scalatest.funsuite.AnyFunSuite

import io.bucketstate.checkpoint.io.Attempt
import io.bucketstate.config.MetricKey
import io.bucketstate.table.{Expiry, FamilyState}
import io.bucketstate.testkit.StoreHarness._
import io.bucketstate.testkit.{MemoryFileStore, ShortMemory, StoreHarness, TempFolder}

/** A store that does not look up what it writes, and comes to an exact number of keys and back. */
class EstimatedStoreSuite extends AnyFunSuite {
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
        var (estimates, restarts) = (0, 0)
        for (_ <- 1 to 120) {
          val version = models.size - 1L
          val changes = someChanges(random)
          val session = batch(store, version)(changes.toSeq: _*)
          val now =
            changes.foldLeft(models.last) { case (model, (k, v)) => model.updatedWith(k)(_ => v) }
          models += now
          val family = familyOf(session)
          if (family.isEstimated) estimates += 1
          else assert(family.keyCount == now.size, s"after ${version + 1}")
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
        assert(estimates > 0 && restarts > 0)
        store.close()
        val again = harness.open(withIds = false)
        (100 to 120).foreach(v => assert(read(again, v.toLong) == models(v)))
        again.close()
      })
    }

  /** A store whose number of keys is an estimate, and its state at the version that it has come to. */
  private def estimated(harness: StoreHarness): (Long, Model) = ShortMemory.during {
    val random = new Random(7)
    val store = harness.open(withIds = false, setting(exact = false): _*)
    var model: Model = Map.empty
    var version = 0L
    var session: WriteSession = null
    while (session == null || version < 20 || !familyOf(session).isEstimated) {
      val changes = someChanges(random)
      session = batch(store, version)(changes.toSeq: _*)
      model = changes.foldLeft(model) { case (m, (k, v)) => m.updatedWith(k)(_ => v) }
      version += 1
    }
    store.close()
    (version, model)
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

  test("blind writes look nothing up, and the figures say that the number is an estimate") {
    withStore { (_, harness, _) =>
      val (version, _) = estimated(harness)
      ShortMemory.during {
        val store = harness.open(withIds = false, setting(exact = false): _*)
        batch(store, version)()
        val session = write(store, version + 1)
        change(session, someChanges(new Random(8)).toSeq: _*)
        val values = session.commit().values
        session.end()
        assert(values(MetricKey.ColdReads) == 0 && values(MetricKey.ColdBuckets) > 0)
        assert(values(MetricKey.EstimatedCounts) == 1 && values(MetricKey.ChangedKeys) > 0)
        store.close()
      }
    }
  }

  test("a restart that loads all of it knows the number again") {
    withStore { (_, harness, _) =>
      val (version, model) = estimated(harness)
      val store =
        harness.open(withIds = false, setting(exact = true) :+ ("restore.mode" -> "eager"): _*)
      val first = figures(store, version)
      assert(first.values(MetricKey.EstimatedCounts) == 0 && first.keys == model.size)
      store.close()
    }
  }

  test("without room for it, the number is exact after the state was written whole") {
    withStore { (_, harness, _) =>
      val (start, begun) = estimated(harness)
      var (version, model) = (start, begun)
      ShortMemory.during {
        val store = harness.open(withIds = false, setting(exact = true): _*)
        val random = new Random(9)
        val isExact = Iterator.continually {
          val changes = someChanges(random)
          val session = batch(store, version)(changes.toSeq: _*)
          version += 1
          model = changes.foldLeft(model) { case (m, (k, v)) => m.updatedWith(k)(_ => v) }
          familyOf(session)
        }
        val family = isExact.take(2000).find(!_.isEstimated)
        assert(family.exists(_.keyCount == model.size))
        val last = figures(store, version)
        assert(last.values(MetricKey.EstimatedCounts) == 0 && last.keys == model.size)
        store.close()
      }
    }
  }

  test("where state is to age out from now on, its keys are counted first") {
    withStore { (files, harness, folder) =>
      val (version, model) = estimated(harness)
      val expiry = Expiry(10L, Some(1000000000L), byProcessingTime = true)
      val ageing = new StoreHarness(files, folder, Some(expiry))
      for (isShort <- Seq(true, false)) ShortMemory.when(isShort) {
        val store = ageing.open(withIds = false, setting(exact = false): _*)
        val reader = store.openForRead(Attempt(version))
        val family = reader.table.families.head
        assert(!family.isEstimated && family.keyCount == model.size)
        reader.end()
        store.close()
      }
      val store = ageing.open(withIds = false, setting(exact = false): _*)
      val session = batch(store, version)("one more" -> Some("1"))
      assert(familyOf(session).keyCount == model.size + 1 && !familyOf(session).isEstimated)
      assert(familyOf(session).records(version + 1).size == model.size + 1)
      store.close()
    }
  }
}
