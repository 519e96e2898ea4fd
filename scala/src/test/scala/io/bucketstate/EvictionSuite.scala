package io.bucketstate

import java.nio.file.{Files, Path}

import scala.jdk.CollectionConverters._
import scala.util.Try

import org.apache.spark.sql.execution.streaming.state._
import org.scalatest.concurrent.Eventually
import org.scalatest.time.{Milliseconds, Seconds, Span}

import io.bucketstate.testkit.ProviderHarness._
import io.bucketstate.testkit.{Damage, FaultyFileManager, ProviderHarness, ShortMemory, TidySuite}

/** State that has left memory, through the provider: what it costs, and what must not be deleted under it. */
class EvictionSuite extends TidySuite with Eventually {
  implicit override val patienceConfig: PatienceConfig =
    PatienceConfig(Span(30, Seconds), Span(100, Milliseconds))

  private type Model = Map[(Long, String), (Long, String)]

  private val settings = Seq(
    "stateStore.bucketed.numBuckets" -> "5",
    "stateStore.bucketed.snapshot.mode" -> "sync",
    "stateStore.bucketed.snapshot.maxVersions" -> "2",
    "stateStore.bucketed.compaction.maxRuns" -> "2",
    "minBatchesToRetain" -> "2",
    "ratioExtraSpaceAllowedInCheckpoint" -> "0"
  ).map { case (k, v) => s"spark.sql.streaming.$k" -> v }

  private def harness(folder: Path, isRemote: Boolean) =
    new ProviderHarness(folder, hadoop = conf => if (isRemote) FaultyFileManager.configure(conf))

  private def keyOfNumber(n: Int): (Long, String) = (n.toLong, s"key $n")

  private def withFiles[A](isRemote: Boolean)(body: Path => A): A = withFolder { folder =>
    if (isRemote) FaultyFileManager.script(folder)(_ => body(folder)) else body(folder)
  }

  /** A thousand keys, then small batches. */
  private def change(
      n: Int,
      model: Model
  ): (Seq[((Long, String), (Long, String))], Seq[(Long, String)]) =
    if (n == 0) ((0 until 1000).map(i => keyOfNumber(i) -> (0L, "v" * 100)), Nil)
    else {
      val puts =
        (0 until 10).map(i => keyOfNumber((n * 37 + i * 91) % 1100) -> (n.toLong, s"in $n"))
      val gone = (0 until 5).map(i => keyOfNumber((n * 53 + i * 17) % 1100))
      (puts, gone.filter(k => model.contains(k) && !puts.exists(_._1 == k)))
    }

  private def next(provider: StateStoreProvider, n: Int, model: Model): Model = {
    val (puts, gone) = change(n, model)
    batch(provider, n.toLong)(puts: _*)(gone: _*)
    (model ++ puts) -- gone
  }

  private def read(provider: StateStoreProvider, version: Int): Model = {
    val reader = provider.getReadStore(version.toLong, None)
    try contents(reader)
    finally ours(reader).release()
  }

  for (isRemote <- Seq(false, true))
    test(
      s"what left memory is there for whoever reads it, whatever retention deletes, remote: $isRemote"
    ) {
      ShortMemory.during(withFiles(isRemote) { folder =>
        val provider = harness(folder, isRemote).provider(settings: _*)
        var model: Model = Map.empty
        var longScan
            : Option[(ReadStateStore, Iterator[UnsafeRowPair], Set[(Long, String)], Model)] = None
        for (n <- 0 until 40) {
          model = next(provider, n, model)
          if (n % 10 == 5) {
            val reader = provider.getReadStore(n + 1L, None)
            val records = reader.iterator()
            longScan =
              Some((reader, records, records.take(100).map(p => keyOf(p.key)).toSet, model))
          }
          provider.doMaintenance()
          assert(read(provider, n + 1) == model, s"version ${n + 1}")
          if (n % 10 == 9) {
            longScan.foreach { case (reader, records, first, expected) =>
              val rest = records.map(p => keyOf(p.key)).toSeq
              assert(
                rest.size + first.size == expected.size && (rest.toSet ++ first) == expected.keySet
              )
              assert(contents(reader) == expected)
              ours(reader).release()
            }
            longScan = None
          }
        }
        provider.close()
        val twin = harness(folder, isRemote).provider(settings: _*)
        assert(read(twin, 40) == model)
        twin.close()
      })
    }

  test("the heap holds what was written since the snapshot, not the state") {
    assert(ShortMemory.during(heap()) < heap() / 3)
  }

  private def heap(): Long = withFolder { folder =>
    // So small a state would be in the cache as a whole.
    val noCache = "spark.sql.streaming.stateStore.bucketed.run.cacheShare" -> "0"
    val provider = harness(folder, isRemote = false).provider(settings :+ noCache: _*)
    (0 until 12).foldLeft(Map.empty: Model)((model, n) => next(provider, n, model))
    val store = provider.getStore(12)
    val bytes = store.metrics.memoryUsedBytes
    store.abort()
    provider.close()
    bytes
  }

  private def figure(provider: StateStoreProvider, version: Long, name: String): Long = {
    val store = provider.getStore(version)
    store.put(key(-1, "touch"), value(version, ""))
    store.commit()
    figures(store)(name)
  }

  test("after a restart without room only what changed since the snapshot is taken into memory") {
    withFolder { folder =>
      val first = harness(folder, isRemote = false).provider(settings: _*)
      val model = (0 until 15).foldLeft(Map.empty: Model)((model, n) => next(first, n, model))
      first.close()
      val expected = model + ((-1L, "touch") -> (15L, ""))
      ShortMemory.during {
        val again = harness(folder, isRemote = false).provider(settings: _*)
        assert(read(again, 15) == model)
        val cold = figure(again, 15, "bucketedColdBuckets")
        assert(cold == 5, "all of them")
        assert(read(again, 16) == expected)
        again.close()
      }
      val whole = harness(folder, isRemote = false).provider(settings: _*)
      assert(read(whole, 16) == expected)
      assert(figure(whole, 16, "bucketedColdBuckets") == 0)
      whole.close()
    }
  }

  test(
    "a file that is damaged while its state is not in memory: an error, then an older snapshot"
  ) {
    val repairing =
      settings :+ ("spark.sql.streaming.stateStore.autoSnapshotRepair.enabled" -> "true") :+
        ("spark.sql.streaming.minBatchesToRetain" -> "100")
    for (isRemote <- Seq(false, true)) withFiles(isRemote) { folder =>
      ShortMemory.during {
        val provider = harness(folder, isRemote).provider(repairing: _*)
        val model = (0 until 9).foldLeft(Map.empty: Model)((model, n) => next(provider, n, model))
        val newest = Files
          .list(folder.resolve("0/0"))
          .iterator
          .asScala
          .filter(_.toString.endsWith(".manifest"))
          .maxBy(Files.getLastModifiedTime(_))
        val used = "runs/[^\"]+\\.sst".r.findAllIn(Files.readString(newest)).toSet
        used.foreach(name => Damage.middleOf(folder.resolve("0/0").resolve(name)))
        if (isRemote) provider.close()
        val reopened = if (isRemote) harness(folder, isRemote).provider(repairing: _*) else provider
        val failures = (1 to 6).map(_ => Try(read(reopened, 9)))
        assert(failures.head.isFailure || failures.head.get == model)
        assert(failures.forall(f => f.isFailure || f.get == model), "never another state")
        assert(failures.last.get == model)
        reopened.close()
      }
    }
  }

  test(
    "a batch whose own changes do not fit is refused in the setting's name, and a smaller one is not"
  ) {
    withFolder { folder =>
      val setting = "spark.sql.streaming.stateStore.bucketed.memory.maxBytes"
      val provider = harness(folder, isRemote = false).provider(settings :+ (setting -> "2m"): _*)
      val small = next(provider, 0, Map.empty)
      val store = provider.getStore(1)
      val refused = intercept[Exception] {
        (0 until 100000).foreach(n => store.put(key(n.toLong, "k"), value(0, "v" * 50)))
      }
      assert(refused.getMessage.contains(s"$setting=2097152"), refused)
      store.abort()
      assert(next(provider, 1, small).nonEmpty && read(provider, 2).nonEmpty)
      provider.close()
    }
  }

  test("what is said to be in memory is what the heap holds, before and after it left") {
    withFolder { folder =>
      val provider = harness(folder, isRemote = false).provider(settings: _*)
      val before = heldHeap()
      for (version <- 0 until 12) {
        val store = provider.getStore(version.toLong)
        val some = if (version < 2) version * 60000 until (version + 1) * 60000 else 0 until 10
        some.foreach(n => store.put(key(n.toLong, s"key $n"), value(version.toLong, "v" * 1000)))
        store.commit()
      }
      val (told, held) = (memoryOf(provider, 12), heldHeap() - before)
      assert(math.abs(told - held) < held / 5, s"$told bytes are told, $held are held")
      ShortMemory.during {
        (12 until 15).foreach { version =>
          val store = provider.getStore(version.toLong)
          store.put(key(0, "key 0"), value(version.toLong, ""))
          store.commit()
        }
      }
      assert(memoryOf(provider, 15) < told / 10)
      // Whoever works in the background may still hold some of it, for a moment.
      eventually {
        val heldNow = heldHeap() - before
        assert(heldNow < held / 5, s"$heldNow bytes are held, of $held")
      }
      provider.close()
    }
  }

  test(
    "a state of many times the limit is held under it, with snapshots that come early for it alone"
  ) {
    withFolder { folder =>
      val base = "spark.sql.streaming.stateStore.bucketed."
      val seldom = settings.toMap ++
        Map(base + "snapshot.maxVersions" -> "100000", base + "memory.maxBytes" -> "2m")
      val provider = harness(folder, isRemote = false).provider(seldom.toSeq: _*)
      var flushes = 0L
      var lookUps = 0L
      val (added, batches) = (500, 120)
      for (version <- 0 until batches) {
        val store = provider.getStore(version.toLong)
        (0 until added).foreach { n =>
          store.put(key((version * added + n).toLong, "k"), value(version.toLong, "v" * 100))
        }
        val old = version * 13 % (version * added + 1)
        assert(store.get(key(old.toLong, "k")) != null, s"key $old at $version")
        store.commit()
        val told = store.metrics.memoryUsedBytes
        // Nothing can leave before there are snapshots, and the first come when it is already too much.
        val most = if (version < batches / 2) 3.0 else 2.25
        assert(told < most * 1024 * 1024, s"$told bytes at $version")
        flushes += figures(store)("bucketedMemoryFlushes")
        lookUps += figures(store)("bucketedColdReads")
      }
      val reader = provider.getReadStore(batches.toLong, None)
      assert(contents(reader).size == added * batches)
      ours(reader).release()
      assert(flushes > 1 && lookUps > 10)
      provider.close()
    }
  }

  test("several keys at once are what they are one by one, in memory or not, there or not") {
    ShortMemory.during(withFolder { folder =>
      val provider = harness(folder, isRemote = false).provider(settings: _*)
      val model = (0 until 12).foldLeft(Map.empty: Model)((model, n) => next(provider, n, model))
      val wanted = new scala.util.Random(1).shuffle((0 until 1500).map(keyOfNumber))
      val rows = wanted.map { case (number, name) => key(number, name) }.toArray
      val (reader, writer) = (provider.getReadStore(12, None), provider.getStore(12))
      Seq(reader, writer, writer).foreach { store =>
        val found = ours(store).multiGet(rows, Default)
        assert(found.map(row => Option(row).map(valueOf)).toSeq == wanted.map(model.get))
      }
      writer.abort()
      ours(reader).release()
      provider.close()
    })
  }

  test("what was used of late stays in memory where that is wanted, above the limit, too") {
    withFolder { folder =>
      val kept = "spark.sql.streaming.stateStore.bucketed.memory.preventEvictionFor"
      val provider = harness(folder, isRemote = false).provider(settings :+ (kept -> "3600000"): _*)
      ShortMemory.during {
        val model =
          (0 until 12).foldLeft(Map.empty: Model)((model, n) => next(provider, n, model))
        assert(read(provider, 12) == model)
        assert(figure(provider, 12, "bucketedColdBuckets") == 0)
      }
      provider.close()
    }
  }

  private def memoryOf(provider: StateStoreProvider, version: Long): Long = {
    val store = provider.getStore(version)
    try store.metrics.memoryUsedBytes
    finally store.abort()
  }

  /** Bytes of the heap that are in use after a collection. */
  private def heldHeap(): Long = {
    (1 to 3).foreach(_ => System.gc())
    val runtime = Runtime.getRuntime
    runtime.totalMemory - runtime.freeMemory
  }
}
