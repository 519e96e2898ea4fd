package io.bucketstate

import scala.util.Random

import io.bucketstate.record.Expiry
import io.bucketstate.testkit.ProviderHarness._
import io.bucketstate.testkit.{
  BusyThreads,
  EngineUnderTest,
  ProviderHarness,
  Seeds,
  ShortMemory,
  TidySuite
}

/**
 * Random histories against a plain map: whatever sequence of writes, commits, aborts, retries of older
 * versions, reads beside the writer, scans that go on meanwhile, maintenance and restarts a query can produce, every
 * version holds exactly what its model holds. With checkpoint ids, also what other executors' attempts at the same
 * versions leave in the folder, whether they win or lose. Now and then a version becomes a manifest alone.
 */
class ProviderHistorySuite extends TidySuite {
  import ProviderHistory.{Blind, Retained}

  /** With these, versions are few that can still be opened, and maintenance deletes the others at once. */
  private val fewVersions =
    Seq(Retained -> "6", "spark.sql.streaming.ratioExtraSpaceAllowedInCheckpoint" -> "0")

  private val settings = Seq(
    "few buckets, lz4" -> Seq("bucketed.numBuckets" -> "3"),
    "one bucket, zstd" -> Seq("bucketed.numBuckets" -> "1", "compression.codec" -> "zstd"),
    "defaults, snappy" -> Seq("compression.codec" -> "snappy"),
    "defaults, lzf" -> Seq("compression.codec" -> "lzf"),
    "a snapshot per version" -> (fewVersions ++ Seq(
      "bucketed.numBuckets" -> "3",
      "bucketed.snapshot.maxVersions" -> "1",
      "bucketed.compaction.maxRuns" -> "2"
    )),
    "snapshots in commit, small files" -> (fewVersions ++ Seq(
      "bucketed.snapshot.maxVersions" -> "2",
      "bucketed.snapshot.mode" -> "sync",
      "bucketed.run.maxFileBytes" -> "1k",
      "bucketed.compaction.maxRuns" -> "3"
    )),
    "snapshots beside, merged by spans of buckets" -> (fewVersions ++ Seq(
      "bucketed.numBuckets" -> "12",
      "bucketed.snapshot.maxVersions" -> "1",
      "bucketed.compaction.maxRuns" -> "2",
      "bucketed.compaction.maxBytes" -> "2k"
    )),
    "snapshots in commit, merged by spans of buckets" -> Seq(
      "bucketed.numBuckets" -> "12",
      "bucketed.snapshot.maxVersions" -> "2",
      "bucketed.snapshot.mode" -> "sync",
      "bucketed.compaction.maxRuns" -> "3",
      "bucketed.compaction.maxBytes" -> "1k"
    ),
    "snapshots by bytes, eager restore" -> Seq(
      "bucketed.numBuckets" -> "7",
      "bucketed.snapshot.maxBytes" -> "4k",
      "bucketed.restore.mode" -> "eager"
    )
  ).map { case (name, pairs) =>
    name -> pairs.map { case (k, v) =>
      (if (k.startsWith("spark.")) k else s"spark.sql.streaming.stateStore.$k") -> v
    }
  }

  /** `make sweep` has many more of them run. */
  private val seeds = sys.env.get("BUCKETSTATE_HISTORIES").fold(1)(_.toInt)

  /** Steps of a history; with the second engine each takes longer. */
  private val (long, brief) =
    if (EngineUnderTest.isRocksDb) (Seeds.of(300, 3000), Seeds.of(175, 1500))
    else (Seeds.of(1200, 3000), Seeds.of(700, 1500))

  for {
    (name, conf) <- settings
    seed <- 1 to seeds
  }
    test(s"random history: $name, seed $seed") {
      withFolder(folder =>
        new ProviderHistory(new ProviderHarness(folder), conf, new Random(seed.toLong))
          .run(steps = long)
      )
    }

  for (seed <- 1 to seeds)
    test(s"random history on a busy machine: a snapshot per version, seed $seed") {
      val (_, conf) = settings.find(_._1 == "a snapshot per version").get
      withFolder { folder =>
        val history =
          new ProviderHistory(new ProviderHarness(folder), conf, new Random(100L + seed))
        BusyThreads.beside(history.run(steps = brief))
      }
    }

  for (seed <- 1 to seeds)
    test(s"random history with prefix scans, seed $seed") {
      withFolder { folder =>
        val harness = new ProviderHarness(folder, prefixKeys)
        val conf = Seq("spark.sql.streaming.stateStore.bucketed.numBuckets" -> "5")
        new ProviderHistory(harness, conf, new Random(seed.toLong), prefixScans = true)
          .run(steps = long)
      }
    }

  for (seed <- 1 to seeds + 1)
    test(s"random history with checkpoint ids and rival attempts, seed $seed") {
      withFolder { folder =>
        val conf = Seq("spark.sql.streaming.stateStore.bucketed.numBuckets" -> "3", Format2)
        val random = new Random(seed.toLong)
        new ProviderHistory(new ProviderHarness(folder), conf, random, rivals = true)
          .run(steps = long)
      }
    }

  private val ofShort = for {
    (name, conf) <- settings.filter(_._2.exists(_._1.contains("snapshot")))
    rivals <- Seq(false, true)
    exact <- Seq(true, false)
  } yield (name, conf, rivals, exact)

  for {
    (name, conf, rivals, exact) <- Seeds.oneOf(2, ofShort, 1)
    seed <- 1 to (if (exact) seeds else math.max(1, seeds / 3))
  }
    test(
      s"random history, short of memory: $name, checkpoint ids: $rivals, exact count: $exact, seed $seed"
    ) {
      withFolder { folder =>
        val all = conf ++ Option.when(rivals)(Format2) ++ Option.when(!exact)(Blind)
        val random = new Random(200L + seed)
        ShortMemory.during {
          new ProviderHistory(
            new ProviderHarness(folder),
            all,
            random,
            rivals = rivals,
            short = true
          )
            .run(steps = brief)
        }
      }
    }

  private val expiry = Expiry(10L, Some(100L), byProcessingTime = false)

  private val ofKinds = for {
    (name, conf) <- settings.filter(_._2.exists(_._1.contains("snapshot")))
    kind <- Seq(
      ("state that expires", ageing("v1", expiry), true),
      ("windows", windowsBy("v1", spanSeconds = 10), false)
    )
    rivals <- Seq(false, true)
    short <- Seq(false, true)
  } yield (name, conf, kind, rivals, short)

  for {
    (name, conf, (kind, own, expires), rivals, short) <- Seeds.oneOf(3, ofKinds, 2)
    seed <- 1 to math.max(1, seeds / 3)
  }
    test(
      s"random history of $kind: $name, checkpoint ids: $rivals, short of memory: $short, $seed"
    ) {
      withFolder { folder =>
        val all = conf ++ own ++ Option.when(rivals)(Format2)
        val harness = new ProviderHarness(folder, valueSchema = TimedValueSchema)
        val random = new Random(300L + seed)
        val rules = Option.when(expires)(expiry)
        ShortMemory.when(short) {
          val history = new ProviderHistory(
            harness,
            all,
            random,
            rivals = rivals,
            expiry = rules,
            windows = !expires,
            short = short
          )
          history.run(steps = brief)
        }
      }
    }
}
