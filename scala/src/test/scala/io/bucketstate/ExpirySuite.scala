package io.bucketstate

import java.nio.file.{Files, Path}

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.catalyst.expressions.{GenericInternalRow, UnsafeProjection}
import org.apache.spark.sql.execution.streaming.state._
import org.apache.spark.sql.types._

import io.bucketstate.checkpoint.io.{Attempt, FileStores, ManifestName}
import io.bucketstate.checkpoint.manifest.{Manifest, Manifests}
import io.bucketstate.config.ConfigKey.{TimeBucketColumn, TimeBucketExpireAfter, TimeBucketSpan}
import io.bucketstate.error.InvalidException
import io.bucketstate.record.Expiry
import io.bucketstate.testkit.ProviderHarness._
import io.bucketstate.testkit.{EngineUnderTest, ProviderHarness, TidySuite}

/** State that ages out: how providers and files behave. What is right at each moment random histories say. */
class ExpirySuite extends TidySuite {
  private val expiry = Expiry(10L, Some(100L), byProcessingTime = false)
  private val prefix = "spark.sql.streaming.stateStore."
  private val ageingByV1 = ageing("v1", expiry)
  private val always = Seq(
    s"${prefix}bucketed.numBuckets" -> "4",
    s"${prefix}bucketed.snapshot.mode" -> "sync",
    s"${prefix}bucketed.snapshot.maxVersions" -> "2",
    s"${prefix}bucketed.compaction.maxRuns" -> "4",
    "spark.sql.streaming.minBatchesToRetain" -> "2",
    "spark.sql.streaming.ratioExtraSpaceAllowedInCheckpoint" -> "0"
  )

  private def withTimes(body: ProviderHarness => Unit): Unit =
    withFolder(folder => body(new ProviderHarness(folder, valueSchema = TimedValueSchema)))

  /** A value of a second. */
  private def at(second: Long, text: String = ""): (Long, String) = (second * 1000000L, text)

  private def keysOf(provider: StateStoreProvider, version: Long): Set[String] = {
    val reader = provider.getReadStore(version)
    try contents(reader).keySet.map(_._2)
    finally ours(reader).release()
  }

  private def manifests(harness: ProviderHarness): Seq[Manifest] = {
    val store = FileStores.forFolder(
      harness.storeId.storeCheckpointLocation(),
      new org.apache.hadoop.conf.Configuration(false)
    )
    val names = harness.storeFolder.toFile.list.toSeq.filter(_.endsWith(".manifest"))
    names
      .map(_.stripSuffix(".manifest").toLong)
      .sorted
      .map(v => new Manifests(store).read(ManifestName(Attempt(v))))
  }

  private def bytesIn(folder: Path): Long =
    Files.walk(folder).iterator.asScala.filter(Files.isRegularFile(_)).map(Files.size).sum

  test("the folder, the keys and the memory stop growing; files are dropped without being read") {
    withTimes { harness =>
      val provider = harness.provider(always ++ ageingByV1: _*)
      val sizes = (1 to 150).map { n =>
        val store = provider.getStore(n - 1L)
        (0 until 40).foreach(i => store.put(key(i.toLong, s"$n"), value(n * 10000000L, "v" * 60)))
        store.commit()
        provider.doMaintenance()
        assert(store.metrics.numKeys == 40L * math.min(n, 12))
        assert(figures(store)("bucketedExpiredKeys") == (if (n > 12) 40 else 0))
        (bytesIn(harness.folder), store.metrics.memoryUsedBytes)
      }
      val (early, late) = (sizes.slice(50, 100), sizes.drop(100))
      assert(late.map(_._1).max <= early.map(_._1).max * 11 / 10)
      assert(late.map(_._2).max <= early.map(_._2).max * 11 / 10)
      val runs = manifests(harness).flatMap(_.runs)
      assert(runs.exists(r => r.files.tails.exists(f => f.drop(1).exists(_.overlaps(f.head)))))
      provider.close()
      val restarted = harness.provider(always ++ ageingByV1: _*)
      assert(keysOf(restarted, 150) == (139 to 150).map(_.toString).toSet)
      restarted.close()
    }
  }

  test(
    "a checkpoint whose query lets nothing expire goes on with times, and stays readable without"
  ) {
    withTimes { harness =>
      val before = harness.provider(always: _*)
      batch(before, 0)((1L, "old") -> at(1000))()
      batch(before, 1)((2L, "older") -> at(10))()
      before.close()
      // What has no time ages from the newest time of the first batch.
      val ageing = harness.provider(always ++ ageingByV1: _*)
      assert(keysOf(ageing, 2) == Set("old", "older"))
      batch(ageing, 2)((3L, "new") -> at(2000))()
      batch(ageing, 3)((4L, "newer") -> at(2090))()
      assert(keysOf(ageing, 4) == Set("old", "older", "new", "newer"))
      batch(ageing, 4)((4L, "newest") -> at(2110))()
      batch(ageing, 5)()()
      assert(keysOf(ageing, 6) == Set("newer", "newest"))
      ageing.close()
      // Without the setting nothing more expires, and what has expired does not come back.
      val after = harness.provider(always: _*)
      assert(keysOf(after, 6) == Set("newer", "newest"))
      batch(after, 6)((5L, "ageless") -> at(1))((9L, "never was"))
      batch(after, 7)((6L, "far") -> at(9000))()
      batch(after, 8)()()
      assert(keysOf(after, 9) == Set("newer", "newest", "ageless", "far"))
      after.close()
      val again = harness.provider(always ++ ageingByV1: _*)
      batch(again, 9)((7L, "later") -> at(9050))()
      batch(again, 10)()()
      assert(keysOf(again, 11) == Set("ageless", "far", "later"))
      again.close()
    }
  }

  test("a snapshot of removals beside keys that have no time yet") {
    withTimes { harness =>
      val oneBucket = always :+ (s"${prefix}bucketed.numBuckets" -> "1")
      val before = harness.provider(oneBucket: _*)
      batch(before, 0)((1L, "a") -> at(1000), (2L, "b") -> at(1000))()
      batch(before, 1)((3L, "c") -> at(1000))()
      batch(before, 2)((4L, "d") -> at(1000))()
      before.close()
      val ageing = harness.provider(oneBucket ++ ageingByV1: _*)
      batch(ageing, 3)()((1L, "a"))
      val store = ageing.getStore(4)
      store.commit()
      assert(figures(store)("bucketedSnapshotFailures") == 0)
      assert(manifests(harness).exists(_.version == 4))
      assert(keysOf(ageing, 5) == Set("b", "c", "d"))
      ageing.close()
    }
  }

  test("by the time of the batch, without a column") {
    withHarness { harness =>
      val provider = harness.provider(always :+ (TimeBucketExpireAfter.key -> "1s"): _*)
      batch(provider, 0)((1L, "a") -> (1L, "x"))()
      assert(keysOf(provider, 1) == Set("a"))
      // Its bucket of a second and a second after it, by the clock.
      val last = Iterator
        .from(1)
        .map(version => batch(provider, version.toLong)((2L, "b") -> (1L, "x"))())
        .find(version => keysOf(provider, version) == Set("b"))
      assert(last.exists(version => keysOf(provider, version - 1) == Set("a", "b")))
      provider.close()
    }
  }

  test("a replay and the change feed for the state reader") {
    withTimes { harness =>
      val provider = harness.provider(always ++ ageingByV1: _*)
      batch(provider, 0)((1L, "a") -> at(1000, "one"))()
      batch(provider, 1)((1L, "b") -> at(1200, "two"))()
      batch(provider, 2)((1L, "c") -> at(1205, "three"))()
      provider.close()
      val reader = harness.provider(always: _*)
      assert(keysOf(reader, 2) == Set("a", "b") && keysOf(reader, 3) == Set("b", "c"))
      val replayed = ours(reader).replayReadStateFromSnapshot(2, 3, None, None)
      assert(contents(replayed).keySet.map(_._2) == Set("b", "c"))
      val feed = ours(reader).getStateStoreChangeDataReader(1, 3, None, None)
      val changes = Iterator
        .continually(())
        .takeWhile(_ => feed.hasNext)
        .map(_ => feed.next())
        .map(c => valueOf(c._3))
        .toSeq
      assert(changes == Seq(at(1000, "one"), at(1200, "two"), at(1205, "three")))
      reader.close()
    }
  }

  test("what comes too late is dropped and counted, a null time never expires") {
    withTimes { harness =>
      val provider = harness.provider(always ++ ageingByV1: _*)
      batch(provider, 0)((1L, "a") -> at(1000))()
      val nothing = UnsafeProjection
        .create(TimedValueSchema)
        .apply(new GenericInternalRow(Array[Any](null, Array.emptyByteArray)))
      val second = provider.getStore(1)
      second.put(key(2L, "timeless"), nothing)
      second.put(key(3L, "early"), value(850 * 1000000L, ""))
      second.put(key(3L, "in time"), value(900 * 1000000L, ""))
      assert(second.get(key(3L, "early")) == null)
      second.commit()
      assert(figures(second)("bucketedLateWrites") == 1 && second.metrics.numKeys == 3)
      batch(provider, 2)((4L, "far") -> at(5000))()
      batch(provider, 3)()()
      assert(keysOf(provider, 4) == Set("timeless", "far"))
      provider.close()
    }
  }

  test("a column in a struct of the key") {
    val schema = new StructType()
      .add("id", LongType)
      .add("window", new StructType().add("start", TimestampType).add("end", TimestampType))
    def keyRow(id: Long, end: Long) = UnsafeProjection
      .create(schema)
      .apply(new GenericInternalRow(Array[Any](id, new GenericInternalRow(Array[Any](0L, end)))))
      .copy()
    withFolder { folder =>
      val provider = made(folder, schema, ageing("window.end", expiry))
      val first = provider.getStore(0)
      first.put(keyRow(1, 1000000000L), value(1, ""))
      first.put(keyRow(1, 1150000000L), value(1, ""))
      first.commit()
      val second = provider.getStore(1)
      assert(
        second.get(keyRow(1, 1000000000L)) == null && second.get(keyRow(1, 1150000000L)) != null
      )
      second.abort()
      provider.close()
    }
  }

  test(
    "windows that their operator removes leave the files together, and nothing is written for it"
  ) {
    withTimes { harness =>
      val settings = always ++ windowsBy("v1", spanSeconds = 10)
      val provider = harness.provider(settings: _*)
      val sizes = (1 to 150).map { n =>
        val store = provider.getStore(n - 1L)
        (0 until 40).foreach(i => store.put(key(i.toLong, s"$n"), value(n * 10000000L, "v" * 60)))
        // Late, but not too late for its operator.
        if (n > 5) store.put(key(99L, s"${n - 5}"), value((n - 5) * 10000000L, "late"))
        if (n > 10) (0 until 100).foreach(i => store.remove(key(i.toLong, s"${n - 10}")))
        store.commit()
        provider.doMaintenance()
        val there = if (n > 10) n - 9 to n else 1 to n
        assert(keysOf(provider, n.toLong) == there.map(_.toString).toSet)
        assert(store.metrics.numKeys == 40 * there.size + (if (n > 5) math.min(n - 5, 5) else 0))
        assert(figures(store)("bucketedChangedKeys") == (if (n > 5) 41 else 40), "no removals")
        assert(figures(store)("bucketedLateWrites") == 0)
        assert(figures(store)("bucketedTimeBuckets") == there.size, "none that was emptied")
        bytesIn(harness.folder)
      }
      assert(sizes.drop(100).max <= sizes.slice(50, 100).max * 11 / 10)
      assert(manifests(harness).flatMap(_.runs).map(_.tombstones).sum == 0)
      provider.close()
      val restarted = harness.provider(settings: _*)
      assert(keysOf(restarted, 150) == (141 to 150).map(_.toString).toSet)
      restarted.close()
    }
  }

  test("a column alone is no reason to refuse operators that remove their state by themselves") {
    withFolder { folder =>
      val metadata = new MetadataBuilder().putLong(SparkInternals.WatermarkKey, 1000L).build()
      val watermarked =
        new StructType().add("k1", TimestampType, nullable = true, metadata).add("k2", StringType)
      val provider = made(folder, watermarked, windowsBy("k1", spanSeconds = 60))
      provider.getStore(0).abort()
      provider.close()
    }
    assert(
      refused(windowsBy("v1", spanSeconds = 60), storeName = "left-keyToNumValues")
        .contains(TimeBucketColumn.key)
    )
  }

  private def made(
      folder: Path,
      keySchema: StructType,
      settings: Seq[(String, String)],
      valueSchema: StructType = ValueSchema,
      storeName: String = StateStoreId.DEFAULT_STORE_NAME
  ): StateStoreProvider = {
    val conf = new org.apache.spark.sql.internal.SQLConf
    conf.setConfString(s"${prefix}providerClass", ProviderClass)
    (EngineUnderTest.settings ++ settings).foreach { case (k, v) => conf.setConfString(k, v) }
    StateStoreProvider.createAndInit(
      StateStoreProviderId(
        StateStoreId(s"file:$folder", 3, 0, storeName),
        new java.util.UUID(0, 1)
      ),
      keySchema,
      valueSchema,
      NoPrefixKeyStateEncoderSpec(keySchema),
      useColumnFamilies = false,
      StateStoreConf(conf),
      new org.apache.hadoop.conf.Configuration(false),
      useMultipleValuesPerKey = false,
      stateSchemaProvider = None
    )
  }

  /** Refused when the first version is opened for writing; reading goes on. */
  private def refused(
      settings: Seq[(String, String)],
      keySchema: StructType = KeySchema,
      valueSchema: StructType = TimedValueSchema,
      storeName: String = StateStoreId.DEFAULT_STORE_NAME
  ): String = withFolder { folder =>
    val provider = made(folder, keySchema, settings, valueSchema, storeName)
    try {
      assert(provider.getReadStore(0).iterator().isEmpty)
      intercept[InvalidException](provider.getStore(0)).getMessage
    } finally provider.close()
  }

  test("a column that is not there, or no time, says what there is") {
    val none = refused(ageing("nope", expiry))
    assert(
      none.contains("'nope'") && none.contains("in the value: v1") && none.contains("key: none")
    )
    assert(refused(ageing("v2", expiry)).contains("'v2', which is no timestamp or date"))
  }

  test("operators that count on their state are refused, and told how to be left out") {
    val timeout = refused(
      ageingByV1,
      valueSchema = TimedValueSchema.add("timeoutTimestamp", LongType)
    )
    assert(timeout.contains("timeouts") && timeout.contains(".operator.3 takes this operator out"))
    assert(refused(ageingByV1, storeName = "left-keyToNumValues").contains("join"))
    val limit = refused(ageingByV1, keySchema = new StructType().add("key", NullType))
    assert(limit.contains("count of a limit"))
    val metadata = new MetadataBuilder().putLong(SparkInternals.WatermarkKey, 1000L).build()
    val watermarked =
      new StructType().add("k1", TimestampType, nullable = true, metadata).add("k2", StringType)
    assert(refused(ageing("k1", expiry), keySchema = watermarked).contains("watermark of 'k1'"))
  }

  test("times that do not fit together are refused at once") {
    withTimes { harness =>
      def wrong(settings: (String, String)*): String =
        intercept[InvalidException](harness.provider(settings: _*)).getMessage
      assert(
        wrong(TimeBucketExpireAfter.key -> "1h", TimeBucketSpan.key -> "2h").contains("longer than")
      )
      val many = wrong(TimeBucketExpireAfter.key -> "30d", TimeBucketSpan.key -> "1s")
      assert(many.contains(TimeBucketSpan.key) && many.contains(TimeBucketExpireAfter.key))
      assert(many.contains("2592000") && many.contains("make it 648s or longer"))
      val fewer = Seq(TimeBucketExpireAfter.key -> "30d", TimeBucketSpan.key -> "648s")
      harness.provider(fewer: _*).close()
      assert(wrong(TimeBucketSpan.key -> "1h").contains("nothing has a time without"))
      for (bad <- Seq("1", "h", "0s", "1.5h", "-1h", "99999999999d", "1 week"))
        assert(wrong(TimeBucketExpireAfter.key -> bad).contains("must be a time such as 90s"))
      val scoped = wrong(s"${TimeBucketExpireAfter.key}.queri.q" -> "1h")
      assert(scoped.contains(".query.<name>"))
      assert(
        wrong(s"${TimeBucketExpireAfter.key}.operator.one" -> "1h").contains(".operator.<number>")
      )
    }
  }

  test("a span for all is one for those that have times") {
    val elsewhere = Seq(
      Seq(s"${TimeBucketExpireAfter.key}.operator.7" -> "7d"),
      Seq(s"${TimeBucketColumn.key}.operator.9" -> "v1"),
      Seq(TimeBucketExpireAfter.key -> "7d", s"${TimeBucketExpireAfter.key}.operator.0" -> "never")
    )
    elsewhere.foreach { settings =>
      withTimes { harness =>
        val provider = harness.provider(always ++ settings :+ (TimeBucketSpan.key -> "1h"): _*)
        batch(provider, 0)((1L, "a") -> at(1000))()
        assert(keysOf(provider, 1) == Set("a"))
        provider.close()
      }
    }
  }

  test("never, for an operator alone, leaves out the column of all") {
    withTimes { harness =>
      val never = s"${TimeBucketExpireAfter.key}.operator.0" -> "never"
      val provider = harness.provider(always ++ ageing("nope", expiry) :+ never: _*)
      batch(provider, 0)((1L, "a") -> at(1000))()
      assert(keysOf(provider, 1) == Set("a"))
      provider.close()
      val own = s"${TimeBucketColumn.key}.operator.0" -> "nope"
      val named = harness.provider(always ++ ageing("v1", expiry) ++ Seq(never, own): _*)
      assert(
        intercept[InvalidException](named.getStore(1)).getMessage.contains("'nope'"),
        "a column that is given as narrowly stays"
      )
      named.close()
    }
  }

  test("settings for an operator alone") {
    withTimes { harness =>
      val only = ageing("v1", expiry).map { case (k, v) => s"$k.operator.0" -> v }
      val others = ageing("nope", expiry).map { case (k, v) => s"$k.operator.1" -> v }
      val provider = harness.provider(always ++ only ++ others: _*)
      batch(provider, 0)((1L, "a") -> at(1000))()
      batch(provider, 1)((1L, "b") -> at(2000))()
      batch(provider, 2)()()
      assert(keysOf(provider, 3) == Set("b"))
      provider.close()
    }
  }
}
