package io.bucketstate

import scala.collection.mutable
import scala.util.{Random, Try}

import org.apache.spark.sql.execution.streaming.state._

import io.bucketstate.checkpoint.io.Attempt
import io.bucketstate.config.{ConfigKey, MetricKey}
import io.bucketstate.record.{Expiry, TimedValue}
import io.bucketstate.testkit.ProviderHarness._
import io.bucketstate.testkit.{
  BusyThreads,
  EngineUnderTest,
  ExpiryModel,
  ProviderHarness,
  Seeds,
  ShortMemory,
  StandsAlone,
  TidySuite
}

/**
 * Random histories against a plain map: whatever sequence of writes, commits, aborts, retries of older
 * versions, reads beside the writer and restarts a query can produce, every version holds exactly what
 * its model holds. With checkpoint ids, also what other executors' attempts at the same versions leave
 * in the folder, whether they win or lose. Now and then a version becomes a manifest alone.
 */
class ProviderHistorySuite extends TidySuite {

  private type Model = ExpiryModel[(Long, String), (Long, String)]

  private val settings = Seq(
    "few buckets, lz4" -> Seq("bucketed.numBuckets" -> "3"),
    "one bucket, zstd" -> Seq("bucketed.numBuckets" -> "1", "compression.codec" -> "zstd"),
    "defaults, snappy" -> Seq("compression.codec" -> "snappy"),
    "defaults, lzf" -> Seq("compression.codec" -> "lzf"),
    "a snapshot per version" -> Seq(
      "bucketed.numBuckets" -> "3",
      "bucketed.snapshot.maxVersions" -> "1",
      "bucketed.compaction.maxRuns" -> "2"
    ),
    "snapshots in commit, small files" -> Seq(
      "bucketed.snapshot.maxVersions" -> "2",
      "bucketed.snapshot.mode" -> "sync",
      "bucketed.run.maxFileBytes" -> "1k",
      "bucketed.compaction.maxRuns" -> "3"
    ),
    "snapshots beside, merged by spans of buckets" -> Seq(
      "bucketed.numBuckets" -> "12",
      "bucketed.snapshot.maxVersions" -> "1",
      "bucketed.compaction.maxRuns" -> "2",
      "bucketed.compaction.maxBytes" -> "2k"
    ),
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
    name -> pairs.map { case (k, v) => s"spark.sql.streaming.stateStore.$k" -> v }
  }

  private val Blind = "spark.sql.streaming.stateStore.bucketed.exactKeyCount" -> "false"

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
        new History(new ProviderHarness(folder), conf, new Random(seed.toLong)).run(steps = long)
      )
    }

  for (seed <- 1 to seeds)
    test(s"random history on a busy machine: a snapshot per version, seed $seed") {
      val (_, conf) = settings.find(_._1 == "a snapshot per version").get
      withFolder { folder =>
        val history = new History(new ProviderHarness(folder), conf, new Random(100L + seed))
        BusyThreads.beside(history.run(steps = brief))
      }
    }

  for (seed <- 1 to seeds)
    test(s"random history with prefix scans, seed $seed") {
      withFolder { folder =>
        val harness = new ProviderHarness(folder, prefixKeys)
        val conf = Seq("spark.sql.streaming.stateStore.bucketed.numBuckets" -> "5")
        new History(harness, conf, new Random(seed.toLong), prefixScans = true).run(steps = long)
      }
    }

  for (seed <- 1 to seeds + 1)
    test(s"random history with checkpoint ids and rival attempts, seed $seed") {
      withFolder { folder =>
        val conf = Seq("spark.sql.streaming.stateStore.bucketed.numBuckets" -> "3", Format2)
        val random = new Random(seed.toLong)
        new History(new ProviderHarness(folder), conf, random, rivals = true).run(steps = long)
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
          new History(new ProviderHarness(folder), all, random, rivals = rivals).run(steps = brief)
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
          new History(harness, all, random, rivals = rivals, expiry = rules, windows = !expires)
            .run(steps = brief)
        }
      }
    }

  private final class History(
      harness: ProviderHarness,
      conf: Seq[(String, String)],
      random: Random,
      prefixScans: Boolean = false,
      rivals: Boolean = false,
      expiry: Option[Expiry] = None,
      windows: Boolean = false
  ) {
    private val isExact = !conf.contains(Blind)
    private val versions = mutable.ArrayBuffer[Model](ExpiryModel(expiry))
    private val ids = mutable.ArrayBuffer[Option[String]](None)
    private var oldest = 0 // of the versions that can still be opened
    private var provider = harness.provider(conf: _*)
    private var store: StateStore = _
    private var open: Model = ExpiryModel(expiry)
    private var now = 10000L // seconds
    private val readers = mutable.ArrayBuffer.empty[(ReadStateStore, Model)]
    private val last = mutable.Queue.empty[String] // steps, for who looks for what went wrong

    private def newest: Int = versions.size - 1

    /** As a later session has it, which need not say in how many buckets the checkpoint is. */
    private def anew(): StateStoreProvider = {
      val isTold = newest == 0 || random.nextBoolean()
      harness.provider(conf.filter(isTold || _._1 != ConfigKey.NumBuckets.key): _*)
    }

    def run(steps: Int): Unit =
      try {
        for (_ <- 1 to steps) step()
        end()
        (oldest to newest).foreach { v =>
          val reader = provider.getReadStore(v.toLong, ids(v))
          assert(contents(reader) == versions(v).plain, s"version $v at the end")
          ours(reader).release()
        }
      } finally {
        // Of what stays open after a failure, other suites find threads.
        Try(end())
        provider.close()
      }

    private def step(): Unit = random.nextInt(100) match {
      case n if n < 45  => noted("write")(write())
      case n if n < 60  => noted("remove")(remove())
      case n if n < 72  => noted("look")(look())
      case n if n < 82  => noted("commit")(commit())
      case n if n < 85  => noted("abort")(abort())
      case n if n < 88  => noted("retry")(retryOlder())
      case n if n < 92  => noted("open reader")(openReader())
      case n if n < 96  => noted("check reader")(checkReader())
      case n if n < 98  => noted("scan")(scan())
      case 98 if rivals => noted("rival")(rivalAttempt())
      case _            =>
        random.nextInt(6) match {
          case 0 => noted("stand alone")(standAlone())
          case 1 => noted("write anew")(writeAnew())
          case _ => noted("restart")(restart())
        }
    }

    private def noted(name: String)(step: => Unit): Unit = {
      if (last.size == 60) last.dequeue()
      last.enqueue(s"$name of ${if (store == null) newest else store.version}")
      step
    }

    private def someKey(): (Long, String) = {
      val n = random.nextInt(60)
      ((n % 7).toLong, s"k$n" + "x" * (n % 20))
    }

    private def begin(version: Int = newest, snapshot: Boolean = false): Unit = if (store == null) {
      store = ours(provider)
        .getStore(version.toLong, ids(version), forceSnapshotOnCommit = snapshot, loadEmpty = false)
      open = versions(version).begun()
    }

    private def write(): Unit = {
      begin()
      val k = someKey()
      val v = (someNumber(), "v" * random.nextInt(300))
      store.put(key(k._1, k._2), value(v._1, v._2))
      open = written(open, k, v)
    }

    /** Any, or the microseconds of a time that may be late. */
    private def someNumber(): Long =
      if (expiry.isEmpty && !windows) random.nextLong()
      else {
        now += random.nextInt(3)
        (now - random.nextInt(random.nextInt(150) + 1)) * 1000000 + random.nextInt(1000000)
      }

    private def written(model: Model, k: (Long, String), v: (Long, String)): Model =
      model.put(k, v, expiry.fold(TimedValue.Never)(_.startOf(v._1 / 1000000)))

    private def remove(): Unit = if (windows && random.nextInt(4) == 0) removeOld() else removeOne()

    /** As an operator does behind a watermark, for which some that is not so old may still come. */
    private def removeOld(): Unit = {
      begin()
      val old = open.plain.collect { case (k, v) if v._1 < (now - 60) * 1000000 => k }
      old.foreach(k => store.remove(key(k._1, k._2)))
      open = old.foldLeft(open)(_.removed(_))
    }

    private def removeOne(): Unit = {
      begin()
      val k = someKey()
      store.remove(key(k._1, k._2))
      open = open.removed(k)
    }

    private def look(): Unit = {
      begin()
      val k = someKey()
      val found = store.get(key(k._1, k._2))
      assert(
        Option(found).map(valueOf) == open.get(k),
        s"$k, the last steps were ${last.mkString(", ")}"
      )
      assert(ours(store).keyExists(key(k._1, k._2), Default) == open.get(k).isDefined)
    }

    private def scan(): Unit = {
      begin()
      if (prefixScans) {
        val p = random.nextInt(8).toLong
        val found = store.prefixScan(prefix(p)).map(x => keyOf(x.key) -> valueOf(x.value)).toMap
        assert(found == open.plain.filter(_._1._1 == p))
      } else assert(contents(store) == open.plain)
    }

    private def commit(): Unit = {
      begin()
      val base = store.version.toInt
      assert(store.commit() == base + 1L)
      val told = store.metrics
      val isOld = told.customMetrics.exists { case (metric, n) =>
        metric.name == MetricKey.Uncounted.name && n > 0
      }
      val made = open
      record(base, made, store.getStateStoreCheckpointInfo())
      store = null
      if (isOld) assert(!isExact, "exact counts are never of an older version")
      else if (told.numKeys != made.size) {
        // Whether it is the count that is wrong, or what was counted.
        val reader = provider.getReadStore(base + 1L, ids(base + 1))
        val there = contents(reader)
        ours(reader).release()
        fail(
          s"version ${base + 1} has ${made.size} keys, ${told.numKeys} were told, and a scan finds " +
            s"${there.size}; wrong are ${(there.toSet -- made.plain) ++ (made.plain.toSet -- there)}; " +
            s"the last steps were ${last.mkString(", ")}"
        )
      }
    }

    /** The driver's view: this attempt is the one that the next batch builds on. */
    private def record(base: Int, made: Model, info: StateStoreCheckpointInfo): Unit = {
      assert(info.batchVersion == base + 1L)
      assert(info.baseStateStoreCkptId == ids(base))
      assert(info.stateStoreCkptId.isDefined == rivals)
      // An id is of one attempt alone, unless one that is made again comes to the very same.
      if (rivals && ids.contains(info.stateStoreCkptId)) {
        assert(ids.indexOf(info.stateStoreCkptId) == base + 1 && versions(base + 1) == made)
      }
      versions.takeInPlace(base + 1)
      ids.takeInPlace(base + 1)
      versions += made
      ids += info.stateStoreCkptId
    }

    /** Another executor makes a version too; the driver then takes its attempt, or does not. */
    private def rivalAttempt(): Unit = {
      val base = Math.max(oldest, newest - random.nextInt(3))
      val rival = harness.provider(conf: _*)
      val k = someKey()
      val v = (someNumber(), "rival")
      val info = attempt(rival, base.toLong, ids(base))(k -> v)()
      rival.close()
      if (random.nextBoolean()) {
        abort() // what is open here may build on a version that is now replaced
        record(base, written(versions(base).begun(), k, v), info)
      }
    }

    private def abort(): Unit = if (store != null) {
      store.abort()
      store = null
    }

    private def end(): Unit = {
      abort()
      readers.foreach { case (reader, _) => ours(reader).release() }
      readers.clear()
    }

    /** A retry: Spark opens a version again that was already built upon. */
    private def retryOlder(): Unit = {
      abort()
      val back = Math.min(newest - oldest, 1 + random.nextInt(4))
      begin(newest - back)
      assert(contents(store) == open.plain)
    }

    private def openReader(): Unit = {
      val version = Math.max(oldest, newest - random.nextInt(3))
      readers += provider.getReadStore(version.toLong, ids(version)) -> versions(version)
    }

    /** What a reader opened stays as it was, also when a retry replaces that version meanwhile. */
    private def checkReader(): Unit = if (readers.nonEmpty) {
      val opened @ (reader, model) = readers(random.nextInt(readers.size))
      assert(contents(reader) == model.plain, s"reader at ${reader.version}")
      if (random.nextBoolean()) {
        readers -= opened
        ours(reader).release()
      }
    }

    /** A version is left as a manifest alone, as tools do that move state; perhaps without what was before it. */
    private def standAlone(): Unit = {
      end()
      begin(snapshot = true)
      write()
      commit()
      end()
      provider.close()
      val withOlder = random.nextBoolean()
      if (!withOlder) oldest = newest
      StandsAlone.leave(harness.storeFolder, Attempt(newest.toLong, ids(newest)), withOlder)
      provider = anew()
    }

    /** A version is written as a state by itself; what has expired of it by then is not written. */
    private def writeAnew(): Unit = {
      abort()
      val base = newest
      store = ours(provider)
        .getStore(base.toLong, None, forceSnapshotOnCommit = false, loadEmpty = true)
      open = ExpiryModel(expiry).begun()
      assert(contents(store).isEmpty)
      versions(base).plain.foreach { case (k, v) =>
        store.put(key(k._1, k._2), value(v._1, v._2))
        open = written(open, k, v)
      }
      assert(contents(store) == open.plain)
      if (random.nextInt(4) == 0) abort()
      else {
        assert(store.commit() == base + 1L)
        if (isExact) assert(store.metrics.numKeys == open.size)
        val info = store.getStateStoreCheckpointInfo()
        assert(info.baseStateStoreCkptId.isEmpty)
        record(base, open, info.copy(baseStateStoreCkptId = ids(base)))
        store = null
      }
    }

    private def restart(): Unit = {
      end() // readers too: a provider is closed when its tasks are over
      provider.close()
      provider = anew()
    }
  }
}
