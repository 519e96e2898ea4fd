package io.bucketstate

import java.nio.file.Files

import scala.jdk.CollectionConverters._
import scala.util.{Random, Using}

import org.apache.spark.sql.execution.streaming.state.{StateStore, StateStoreProvider}

import io.bucketstate.checkpoint.run.open.SharedReads
import io.bucketstate.error.InvalidException
import io.bucketstate.testkit.ProviderHarness._
import io.bucketstate.testkit.{FaultyFileManager, ProviderHarness, ShortMemory, TidySuite}

/** Keys that are in files alone, through the provider: what is kept to read them, and what is told of it. */
class ColdReadsSuite extends TidySuite {
  private val own = "spark.sql.streaming.stateStore.bucketed."
  private val settings = Seq(
    "numBuckets" -> "5",
    "snapshot.mode" -> "sync",
    "snapshot.maxVersions" -> "1",
    "run.maxFileBytes" -> "1",
    "run.blockBytes" -> "256"
  ).map { case (k, v) => own + k -> v }

  private val keys = 2000
  private val newest = 8

  private def rowOf(n: Int, version: Long) = value(version, s"value $n of $version")

  /** A few runs of many files, of which most is old enough to have left memory; each key's version. */
  private def fill(provider: StateStoreProvider): Map[Int, Long] = {
    val batches =
      Seq(0 until keys, 0 until keys by 3, 100 until 200) ++ Seq.fill(newest - 3)(0 until 1)
    batches.zipWithIndex.flatMap { case (numbers, version) =>
      val store = provider.getStore(version.toLong)
      numbers.foreach(n => store.put(key(n.toLong, "k"), rowOf(n, version.toLong)))
      store.commit()
      numbers.map(_ -> version.toLong)
    }.toMap
  }

  private def lookUp(store: StateStore, model: Map[Int, Long], some: Seq[Int]): Unit =
    some.foreach { n =>
      val found = Option(store.get(key(n.toLong, "k"))).map(valueOf)
      assert(found == model.get(n).map(v => valueOf(rowOf(n, v))), n)
    }

  private def outcomes(figures: Map[String, Long]): Seq[Long] =
    Seq("ByFilter", "FromCache", "FromFiles").map(name => figures(s"bucketedColdReads$name"))

  private def withState(more: (String, String)*)(
      body: (StateStoreProvider, Map[Int, Long]) => Unit
  ): Unit = ShortMemory.during(withHarness { harness =>
    val provider = harness.provider(settings ++ more.map { case (k, v) => own + k -> v }: _*)
    val model = fill(provider)
    body(provider, model)
    provider.close()
  })

  test("keys that are looked up after a restart, before their buckets are in memory, count too") {
    withHarness { harness =>
      val before = harness.provider(settings: _*)
      val model = fill(before)
      before.close()
      val provider = harness.provider(settings: _*)
      val store = provider.getStore(newest.toLong)
      lookUp(store, model, 0 until 3)
      store.commit()
      val told = figures(store)
      assert(outcomes(told).sum > 0 && outcomes(told).sum <= told("bucketedColdReads"))
      provider.close()
    }
  }

  for {
    share <- Seq("0", "1", "30")
    files <- Seq("1", "2000")
    bits <- Seq("0", "4", "10")
  } test(s"look-ups are right, and counted by what they took: $share %, $files files, $bits bits") {
    withState("run.cacheShare" -> share, "run.maxOpenFiles" -> files, "run.bloomBits" -> bits) {
      (provider, model) =>
        val random = new Random(1)
        for (version <- newest until newest + 3) {
          val store = provider.getStore(version.toLong)
          lookUp(store, model, Seq.fill(1500)(random.nextInt(keys * 5 / 4)))
          store.commit()
          val told = figures(store)
          assert(told("bucketedColdReads") > 1000)
          assert(outcomes(told).sum == told("bucketedColdReads"))
          if (share == "0") {
            // An index knows where its file ends, whatever of it is in memory.
            assert(outcomes(told).head < told("bucketedColdReads") / 100 && outcomes(told)(1) == 0)
          }
          if (share == "30" && version == newest + 2)
            assert(outcomes(told).last < 500, "it is in the cache")
          if (bits == "10" && share == "30") assert(outcomes(told).head > 100, "those not there")
        }
        if (files == "1") assert(SharedReads.OfProcess.openFiles <= 1)
        else assert(SharedReads.OfProcess.openFiles > 5)
    }
  }

  test("what is kept to read files is told as memory, and given back with the store") {
    def memory(share: String): Long = {
      var bytes = 0L
      withState("run.cacheShare" -> share) { (provider, model) =>
        val reader = provider.getReadStore(newest.toLong)
        (1 to 2).foreach { _ =>
          model.keys.foreach(n => assert(reader.get(key(n.toLong, "k")) != null))
        }
        ours(reader).release()
        val store = provider.getStore(newest.toLong)
        bytes = store.metrics.memoryUsedBytes
        store.abort()
      }
      assert(SharedReads.OfProcess.openFiles == 0)
      bytes
    }
    assert(memory("10") - memory("0") > 50_000)
  }

  test("copies of a remote checkpoint that vanish or change are fetched again under the query") {
    withFolder { folder =>
      FaultyFileManager.script(folder.resolve("state")) { _ =>
        val local = own + "localDir" -> folder.resolve("local").toString
        ShortMemory.during {
          val harness =
            new ProviderHarness(folder.resolve("state"), hadoop = FaultyFileManager.configure(_))
          val few = Seq(own + "run.maxOpenFiles" -> "2", own + "run.cacheShare" -> "0", local)
          val provider = harness.provider(settings ++ few: _*)
          val model = fill(provider)
          val random = new Random(2)
          for (version <- newest until newest + 9) {
            val store = provider.getStore(version.toLong)
            copies(folder.resolve("local")).zipWithIndex.foreach { case (copy, i) =>
              if (i % 3 == 0) Files.delete(copy)
              else if (i % 3 == 1) testkit.Damage.at(copy, version.toInt)
            }
            lookUp(store, model, Seq.fill(300)(random.nextInt(keys)))
            store.commit()
          }
          provider.close()
        }
      }
    }
  }

  private def copies(folder: java.nio.file.Path) =
    Using
      .resource(Files.walk(folder))(_.iterator.asScala.toList)
      .filter(_.toString.endsWith(".sst"))
      .sorted

  test("settings out of range are refused, with what is allowed") {
    withHarness { harness =>
      val allowed =
        Seq(
          "run.cacheShare" -> (0, 90),
          "run.bloomBits" -> (0, 30),
          "run.maxOpenFiles" -> (1, 1000000)
        )
      for {
        (name, (least, most)) <- allowed
        bad <- Seq(s"${least - 1}", s"${most + 1}", "ten", "10%")
      } {
        val refused = intercept[InvalidException](harness.provider(own + name -> bad))
        assert(refused.getMessage.contains(s"$own$name is '$bad'"))
        assert(refused.getMessage.contains(s"a whole number from $least to $most"))
      }
    }
  }
}
