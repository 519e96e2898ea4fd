package io.bucketstate

import java.nio.charset.StandardCharsets.US_ASCII
import java.nio.file.Files
import java.util.concurrent.CountDownLatch

import scala.util.Random

import org.apache.spark.SparkException

import io.bucketstate.background.BackgroundPool
import io.bucketstate.checkpoint.io.NioFileStore
import io.bucketstate.config.Engine
import io.bucketstate.error.CorruptException
import io.bucketstate.testkit.ProviderHarness._
import io.bucketstate.testkit.{Damage, ProviderHarness, StoreHarness, TempFolder, TidySuite}

/** A restart from more bytes of changelog than are read before the first get. */
class LongTailSuite extends TidySuite {
  private val NoSnapshots =
    Seq("maxVersions" -> "1000", "maxBytes" -> "1g").map { case (name, value) =>
      s"spark.sql.streaming.stateStore.bucketed.snapshot.$name" -> value
    }

  private val versions = 3
  private val keys = (0 until 10).map(i => (i.toLong, s"key $i"))

  /** Incompressible, and large enough to lie in blocks of their own. */
  private def big(version: Int, key: (Long, String)): String = {
    val bytes = new Array[Byte](1 << 20)
    new Random(version * 100L + key._1).nextBytes(bytes)
    // 64 letters of ASCII.
    new String(bytes.map(byte => (48 + (byte & 63)).toByte), US_ASCII)
  }

  private def model(version: Int): Map[(Long, String), (Long, String)] =
    keys.map(k => k -> (version.toLong, big(version, k))).toMap

  private def written(harness: ProviderHarness): Unit = {
    val provider = harness.provider(NoSnapshots: _*)
    (0 until versions).foreach(v => batch(provider, v.toLong)(model(v).toSeq: _*)())
    provider.close()
  }

  test("every version is what was committed, and the next batch goes on") {
    withHarness { harness =>
      written(harness)
      val provider = harness.provider(NoSnapshots: _*)
      val store = provider.getStore(versions.toLong)
      val wanted = model(versions - 1)
      keys.foreach(k => assert(valueOf(store.get(key(k._1, k._2))) == wanted(k)))
      assert(contents(store) == wanted)
      store.put(key(99, "new"), value(99, "new"))
      assert(store.commit() == versions + 1)
      assert(store.metrics.numKeys == keys.size + 1)
      provider.close()
    }
  }

  test("nothing is committed on top of a byte that is not what was written, whoever reads it") {
    withHarness { harness =>
      written(harness)
      Damage.at(harness.file(s"$versions.changelog"), 1000) // in the first block
      val provider = harness.provider(NoSnapshots: _*)
      val store = provider.getStore(versions.toLong)
      val wanted = model(versions - 1)
      val readable = keys.count { k =>
        try valueOf(store.get(key(k._1, k._2))) == wanted(k)
        catch { case _: SparkException => false }
      }
      assert(readable < keys.size)
      val error = intercept[SparkException](store.commit())
      assert(Iterator.iterate[Throwable](error)(_.getCause).takeWhile(_ != null).exists {
        case e: CorruptException => e.file.endsWith(s"$versions.changelog")
        case _                   => false
      })
      assert(!Files.exists(harness.file(s"${versions + 1}.changelog")))
      store.abort()
      provider.close()
    }
  }

  test("a batch that touches nothing does not pass over damage either") {
    withHarness { harness =>
      written(harness)
      Damage.middleOf(harness.file(s"$versions.changelog"))
      val provider = harness.provider(NoSnapshots: _*)
      val store = provider.getStore(versions.toLong)
      assertThrows[SparkException](store.commit())
      store.abort()
      provider.close()
    }
  }

  test("no changelog is deleted that a bucket is still to be loaded from, whatever covers it") {
    TempFolder.use { folder =>
      val files = new NioFileStore(folder.resolve("store"))
      val harness = new StoreHarness(files, folder, retained = 1)
      val settings = Seq("engine" -> Engine.Heap.name, "snapshot.maxBytes" -> "1g")
      def changelogs = files.list().map(_.name).filter(_.endsWith(".changelog")).toSet
      val first = harness.open(withIds = false, settings: _*)
      (0 until versions).foreach { v =>
        StoreHarness.batch(first, v.toLong)(keys.map(k => k._2 -> Option(big(v, k))): _*)
      }
      first.close()

      val goOn = new CountDownLatch(1)
      // What would be loaded beside the batches waits behind these, for however many threads there are.
      (1 to 8).foreach(_ => BackgroundPool.submit(() => goOn.await()))
      try {
        val again = harness.open(withIds = false, settings: _*)
        val changed = keys.head._2 -> "new"
        val covered = StoreHarness.batch(again, versions.toLong, forceSnapshot = true)(
          changed._1 -> Some(changed._2)
        )
        assert(files.exists(s"${versions + 1}.manifest") && !covered.table.isLoaded)
        val next = StoreHarness.write(again, versions + 1L)
        again.maintain()
        assert(changelogs == (1 to versions + 1).map(v => s"$v.changelog").toSet)
        goOn.countDown()
        val wanted = keys.map(k => k._2 -> big(versions - 1, k)).toMap + changed
        assert(StoreHarness.contents(next.table, versions + 2L) == wanted)
        next.commit()
        next.end()
        // Now that all is in memory they are of no use.
        again.maintain()
        assert(changelogs == Set(s"${versions + 1}.changelog", s"${versions + 2}.changelog"))
        assert(StoreHarness.read(again, versions + 2L) == wanted)
      } finally {
        goOn.countDown()
        harness.close()
      }
    }
  }
}
