package io.bucketstate

import java.io.DataOutputStream
import java.nio.file.Files

import scala.util.Using

import org.apache.spark.io.{
  LZ4CompressionCodec,
  LZFCompressionCodec,
  SnappyCompressionCodec,
  ZStdCompressionCodec
}
import org.apache.spark.sql.catalyst.expressions.{GenericInternalRow, UnsafeProjection, UnsafeRow}
import org.apache.spark.sql.execution.streaming.state._
import org.apache.spark.sql.streaming.StreamingQueryException
import org.apache.spark.sql.types.{BinaryType, LongType, StructType}
import org.apache.spark.unsafe.Platform
import org.apache.spark.{SparkConf, SparkException, SparkThrowable}

import io.bucketstate.error._
import io.bucketstate.testkit.ProviderHarness._
import io.bucketstate.testkit.{ProviderHarness, Queries, TidySuite}

/** Every wrong setting, file, version or call ends in a clear error, and nothing is lost by it. */
class BadInputSuite extends TidySuite with Queries {
  private val prefix = "spark.sql.streaming.stateStore.bucketed."

  private def condition(error: Throwable): String = error.asInstanceOf[SparkThrowable].getCondition

  private def withThreeVersions(body: (ProviderHarness, StateStoreProvider) => Unit): Unit =
    withHarness { harness =>
      val writer = harness.provider()
      batch(writer, 0)((1L, "a") -> (1L, "one"), (2L, "b") -> (2L, "two"))()
      batch(writer, 1)((1L, "a") -> (10L, "ten"), (3L, "c") -> (3L, "three"))()
      batch(writer, 2)()((2L, "b"))
      writer.close()
      val provider = harness.provider()
      try body(harness, provider)
      finally provider.close()
    }

  private val third = Map((1L, "a") -> (10L, "ten"), (3L, "c") -> (3L, "three"))

  test("a malformed value names the key, the value and what is allowed") {
    withHarness { harness =>
      for (bad <- Seq("0", "-1", "many", "32769", "1.5", "")) {
        val error = intercept[InvalidException](harness.provider(prefix + "numBuckets" -> bad))
        assert(error.getMessage.contains(s"${prefix}numBuckets is '$bad'"))
        assert(error.getMessage.contains("a whole number from 1 to 32768"))
      }
      val engine = intercept[InvalidException](harness.provider(prefix + "engine" -> "disk"))
      assert(engine.getMessage.contains("must be one of 'heap', 'rocksdb'"))
    }
  }

  test("an unknown setting is an error with the nearest known one") {
    withHarness { harness =>
      val error = intercept[InvalidException](harness.provider(prefix + "numBucket" -> "8"))
      assert(error.getMessage.contains(s"Did you mean ${prefix}numBuckets?"))
    }
  }

  test("a changelog of Spark's RocksDB provider is told as such, where there is no snapshot yet") {
    val conf = new SparkConf(false)
    val codecs = Seq(
      new LZ4CompressionCodec(conf),
      new LZFCompressionCodec(conf),
      new SnappyCompressionCodec(conf),
      new ZStdCompressionCodec(conf)
    )
    for (codec <- codecs) withHarness { harness =>
      Files.createDirectories(harness.storeFolder)
      val file = Files.newOutputStream(harness.storeFolder.resolve("1.changelog"))
      Using.resource(new DataOutputStream(codec.compressedOutputStream(file)))(_.writeUTF("v2"))
      val error = intercept[Exception](harness.provider().getStore(1))
      val messages = Iterator.iterate[Throwable](error)(_.getCause).takeWhile(_ != null)
      val said = messages.map(_.getMessage).mkString("\n")
      assert(said.contains("was written by Spark's RocksDBStateStoreProvider (1.changelog)"), said)
    }
  }

  test("an unknown compression codec names the setting and what is allowed") {
    withHarness { harness =>
      val key = "spark.sql.streaming.stateStore.compression.codec"
      val error = intercept[InvalidException](harness.provider(key -> "brotli"))
      assert(error.getMessage.contains(key) && error.getMessage.contains("lz4"))
    }
  }

  test(
    "a setting with which Spark would call a store from two threads at once is refused by name"
  ) {
    val setting = "spark.python.udf.pipelined.enabled"
    withSession(setting -> "true") { (spark, folder) =>
      import spark.implicits._
      val input = memoryStream[Int](spark)
      val query = start(input.toDF().groupBy("value").count(), "counts", folder)
      val failure = intercept[StreamingQueryException](addAndWait(input, query, Seq(1, 2, 3)))
      assert(failure.getMessage.contains(s"$setting is true"))
      assert(failure.getMessage.contains(s"Start the application without $setting"))
    }
  }

  test("an empty version has no checkpoint id, as with Spark's own provider") {
    withHarness { harness =>
      val provider = harness.provider(Format2)
      val error = intercept[IllegalArgumentException] {
        ours(provider).getStore(1, Some("an-id"), forceSnapshotOnCommit = false, loadEmpty = true)
      }
      assert(error.getMessage.contains("stateStoreCkptId should be empty when loadEmpty is true"))
      provider.getStore(0).abort()
      provider.close()
    }
  }

  test("rows that do not have the layout of the schema are refused, whoever wrote them") {
    withHarness { harness =>
      // Its second field is a number, not the place of some bytes.
      val foreign = UnsafeProjection
        .create(new StructType().add("v1", LongType).add("v2", LongType))
        .apply(new GenericInternalRow(Array[Any](1L, 5L)))
      def refused(read: => Any): Unit = {
        val message = intercept[CorruptException](read).getMessage
        assert(message.contains("'default'") && message.contains("struct<v1:bigint,v2:binary>"))
      }
      val writer = harness.provider()
      val store = writer.getStore(0)
      store.put(key(1, "a"), foreign)
      refused(store.get(key(1, "a")))
      store.commit()
      writer.close()
      for (validation <- Seq("true", "false")) {
        val provider = harness.provider(
          "spark.sql.streaming.stateStore.formatValidation.enabled" -> validation
        )
        val reads = Seq[ReadStateStore => Any](_.get(key(1, "a")), _.iterator().next().value)
        for (read <- reads) {
          val reader = provider.getReadStore(1)
          refused(read(reader))
          reader.abort()
        }
        provider.close()
      }
    }
  }

  test("rows that Spark's check refuses are refused where they were restored, unless it is off") {
    withHarness { harness =>
      // Its first field is null and yet has a number, as no row of Spark's has.
      val foreign = UnsafeProjection
        .create(new StructType().add("v1", LongType).add("v2", BinaryType))
        .apply(new GenericInternalRow(Array[Any](5L, Array[Byte](1, 2))))
        .copy()
      foreign.setNullAt(0)
      val firstWord = foreign.getBaseOffset + UnsafeRow.calculateBitSetWidthInBytes(2)
      Platform.putLong(foreign.getBaseObject, firstWord, 5L)
      val writer = harness.provider()
      val store = writer.getStore(0)
      store.put(key(1, "a"), foreign)
      assert(store.get(key(1, "a")) == foreign, "a query is not held against its own rows")
      store.commit()
      writer.close()
      val strict = harness.provider()
      val reads = Seq[ReadStateStore => Any](_.get(key(1, "a")), _.iterator().next())
      for (read <- reads) {
        val reader = strict.getReadStore(1)
        val error = intercept[SparkThrowable](read(reader))
        assert(error.getCondition == "STATE_STORE_VALUE_ROW_FORMAT_VALIDATION_FAILURE")
        reader.abort()
      }
      strict.close()
      val off = "spark.sql.streaming.stateStore.formatValidation.enabled" -> "false"
      val lenient = harness.provider(off)
      assert(lenient.getReadStore(1).get(key(1, "a")) == foreign)
      lenient.close()
    }
  }

  test("a different number of buckets on restart names both numbers; the old one still works") {
    withThreeVersions { (harness, _) =>
      val changed = harness.provider(prefix + "numBuckets" -> "8")
      val error = intercept[Exception](changed.getStore(3))
      assert(condition(error) == "STATE_STORE_INVALID_CONFIG_AFTER_RESTART")
      assert(error.getMessage.contains("64") && error.getMessage.contains("8"))
      assert(error.getCause.getMessage.contains("set it back to 64"))
      changed.close()
      val restored = harness.provider()
      assert(contents(restored.getReadStore(3)) == third)
      restored.close()
    }
  }

  test("a version that does not exist, and one below 0") {
    withThreeVersions { (_, provider) =>
      val missing = intercept[SparkException](provider.getStore(9))
      assert(condition(missing) == "CANNOT_LOAD_STATE_STORE.CANNOT_READ_STREAMING_STATE_FILE")
      assert(missing.getMessage.contains("4.changelog"))
      val negative = intercept[SparkException](provider.getStore(-1))
      assert(condition(negative) == "CANNOT_LOAD_STATE_STORE.UNEXPECTED_VERSION")
      assert(contents(provider.getReadStore(3)) == third)
    }
  }

  test("a missing changelog is an error, never an older or an emptier store") {
    withThreeVersions { (harness, provider) =>
      val file = harness.file("2.changelog")
      val bytes = Files.readAllBytes(file)
      Files.delete(file)
      val error = intercept[SparkException](provider.getStore(3))
      assert(condition(error) == "CANNOT_LOAD_STATE_STORE.CANNOT_READ_STREAMING_STATE_FILE")
      assert(error.getCause.isInstanceOf[MissingException])
      Files.write(file, bytes)
      assert(contents(provider.getReadStore(3)) == third, "nothing was lost by the failed attempt")
    }
  }

  test("every flipped byte and every truncation of a changelog is detected") {
    withThreeVersions { (harness, provider) =>
      val file = harness.file("2.changelog")
      val good = Files.readAllBytes(file)
      def mustFail(what: String): Unit = {
        val error = intercept[SparkException](provider.getReadStore(3))
        assert(condition(error) == "CANNOT_LOAD_STATE_STORE.CANNOT_READ_STREAMING_STATE_FILE", what)
        assert(error.getCause.isInstanceOf[CorruptException], what)
        assert(error.getCause.getMessage.contains("2.changelog"), what)
      }
      good.indices.foreach { i =>
        Files.write(file, good.updated(i, (good(i) ^ 0x20).toByte))
        mustFail(s"byte $i flipped")
      }
      good.indices.foreach { n =>
        Files.write(file, good.take(n))
        mustFail(s"truncated to $n bytes")
      }
      Files.write(file, good)
      assert(contents(provider.getReadStore(3)) == third)
    }
  }

  test("a changelog of another history is noticed") {
    withThreeVersions { (harness, provider) =>
      withHarness { other =>
        val stranger = other.provider()
        batch(stranger, 0)((1L, "a") -> (1L, "one"))()
        batch(stranger, 1)((8L, "h") -> (8L, "x"))()
        stranger.close()
        Files.write(harness.file("2.changelog"), Files.readAllBytes(other.file("2.changelog")))
      }
      val error = intercept[SparkException](provider.getReadStore(3))
      assert(error.getCause.getMessage.contains("another history"))
      val feed = ours(provider).getStateStoreChangeDataReader(1, 3, None, None)
      val told = intercept[Exception](while (feed.hasNext) feed.next())
      assert(Option(told.getCause).getOrElse(told).getMessage.contains("another history"))
    }
  }

  test("null keys and values are refused, and the batch goes on") {
    withThreeVersions { (_, provider) =>
      val store = provider.getStore(3)
      assert(intercept[Exception](store.put(null, value(1, "x"))).getMessage.contains("null"))
      assert(intercept[Exception](store.put(key(1, "a"), null)).getMessage.contains("null"))
      assert(intercept[Exception](store.get(null)).getMessage.contains("null"))
      assert(intercept[Exception](store.remove(null)).getMessage.contains("null"))
      assert(store.commit() == 4)
      assert(contents(provider.getReadStore(4)) == third)
    }
  }

  test("a store is of no use after commit, abort or release, as with Spark's RocksDB provider") {
    withThreeVersions { (_, provider) =>
      val committed = provider.getStore(3)
      committed.commit()
      val aborted = provider.getStore(4)
      aborted.abort()
      aborted.abort() // again is no error
      Seq(committed, aborted).foreach { store =>
        val calls: Seq[() => Any] = Seq(
          () => store.put(key(1, "a"), value(1, "x")),
          () => store.remove(key(1, "a")),
          () => store.get(key(1, "a")),
          () => store.iterator()
        )
        calls.foreach { call =>
          assert(condition(intercept[Exception](call())) == "STATE_STORE_INVALID_STAMP")
        }
        val again = intercept[Exception](store.commit())
        assert(condition(again) == "STATE_STORE_OPERATION_OUT_OF_ORDER")
      }
      val reader = provider.getReadStore(4)
      ours(reader).release()
      ours(reader).release()
      assert(
        condition(intercept[Exception](reader.get(key(1, "a")))) == "STATE_STORE_INVALID_STAMP"
      )
    }
  }

  test("a prefix scan without a prefix encoder is refused") {
    withThreeVersions { (_, provider) =>
      val error =
        intercept[IllegalArgumentException](provider.getReadStore(3).prefixScan(prefixOf(1)))
      assert(error.getMessage.contains("Prefix scan requires setting prefix key"))
    }
  }

  private def prefixOf(n: Long) = ProviderHarness.prefix(n)
}
