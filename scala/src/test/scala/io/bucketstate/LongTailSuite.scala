package io.bucketstate

import java.nio.charset.StandardCharsets.US_ASCII
import java.nio.file.Files

import scala.util.Random

import org.apache.spark.SparkException

import io.bucketstate.error.CorruptException
import io.bucketstate.testkit.ProviderHarness._
import io.bucketstate.testkit.{Damage, ProviderHarness, TidySuite}

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
}
