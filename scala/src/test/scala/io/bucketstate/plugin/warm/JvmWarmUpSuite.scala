package io.bucketstate.plugin.warm

import java.nio.file.{Files, Path}
import java.util.concurrent.ConcurrentLinkedQueue
import java.util.concurrent.atomic.AtomicInteger

import scala.jdk.CollectionConverters._
import scala.util.Using

import org.apache.hadoop.conf.Configuration
import org.apache.spark.SparkConf
import org.apache.spark.sql.execution.streaming.state.StateStoreProvider

import io.bucketstate.BucketedStateStoreProvider
import io.bucketstate.config.{ConfigKey, Engine, MemoryLimit, MetricKey, RocksDbMemory}
import io.bucketstate.rocksdb.state.ExecutorNative
import io.bucketstate.spark.SparkSettings
import io.bucketstate.store.StoreMemory
import io.bucketstate.testkit.{LeftOvers, TempFolder, TidySuite, Warnings}
import io.bucketstate.watch.{CommitReport, StoreWatch, WatchedStore}

class JvmWarmUpSuite extends TidySuite {
  import JvmWarmUpSuite._

  for (engine <- Engine.all)
    test(s"${engine.name}: small stores go through batches and a restart, and leave nothing") {
      val before = (LeftOvers.ofProcess, LeftOvers.workFolders)
      val watch = new Told
      val warnings = Warnings.during("") {
        watch.during(run(EnoughMs, ConfigKey.Engine.key -> engine.name)(provider))
      }
      assert(warnings.isEmpty)
      assert(watch.failures.isEmpty)
      assert(watch.commits.asScala.map(_.version).toSet == Set(1L, 2L, 3L, 4L, 5L))
      // Each provider that is restarted reads its state from files.
      assert(watch.commits.asScala.exists(_.values.getOrElse(MetricKey.TableReloads, 0L) > 0))
      assert((LeftOvers.ofProcess, LeftOvers.workFolders) == before)
    }

  for (engine <- Engine.all)
    test(s"${engine.name}: nothing is left in a folder that outlives the process's own") {
      TempFolder.use { lasting =>
        val watch = new Told
        val warnings = Warnings.during("io.bucketstate") {
          watch.during {
            run(
              EnoughMs,
              ConfigKey.Engine.key -> engine.name,
              ConfigKey.LocalDir.key -> lasting.toString
            )(provider)
          }
        }
        assert(warnings.isEmpty)
        assert(watch.failures.isEmpty)
        assert(watch.commits.asScala.exists(_.version == 5L))
        assert(Using.resource(Files.walk(lasting))(_.count()) == 1)
      }
    }

  test("what the stores of a process share is as the application has set it, also for small ones") {
    assume(ExecutorNative.stores == 0)
    val limits = Seq(
      ConfigKey.MemoryMaxBytes -> "64m",
      ConfigKey.RunCacheShare -> "7",
      ConfigKey.RunMaxOpenFiles -> "11",
      ConfigKey.RocksDbHeapBytes -> "3m",
      ConfigKey.RocksDbMemoryShare -> "10",
      ConfigKey.RocksDbMaxBytesPerSecond -> "5m"
    )
    // A real store that joins meanwhile, with other limits.
    val found = new ConcurrentLinkedQueue[(Long, Long, Long)]
    val watch = new Told {
      override def committed(store: WatchedStore, report: CommitReport): Unit = {
        super.committed(store, report)
        // The store that has committed is open until this is over, and so are its databases.
        if (ExecutorNative.stores > 0)
          Using.resource(ExecutorNative.join(ExecutorNative.Limits(1L << 20, 1L << 20))) { lease =>
            val (bytes, each) = (lease.records.bytes, lease.rateLimiter.getBytesPerSecond)
            found.add((StoreMemory.HotTracker.limit, bytes, each))
            ()
          }
      }
    }
    val settings = limits :+ (ConfigKey.Engine -> "rocksdb")
    watch.during(run(5000L, settings.map { case (k, v) => k.key -> v }: _*)(provider))
    assert(watch.failures.isEmpty)
    val native = (64L << 20) / 100 * 10
    assert(found.asScala.toSet == Set((3L << 20, native / 100 * 80, 5L << 20)))

    val conf = new SparkConf(false).setAll(settings.map { case (k, v) => k.key -> v })
    val read = SparkSettings.read(JvmWarmUp.storeConf(conf, Path.of("folder")))
    assert(read.cacheShare == 7 && read.maxOpenFiles == 11)
    assert(read.maxMemory == MemoryLimit.Bytes(64L << 20))
    assert(read.rocksDbMemory == RocksDbMemory(3L << 20, 10, 5L << 20))
  }

  test("its processor time is bounded") {
    val made = new AtomicInteger
    run(1L) {
      made.incrementAndGet()
      provider
    }
    assert(made.get <= 1)
  }

  test("it can be stopped, and leaves nothing then") {
    val before = (LeftOvers.ofProcess, LeftOvers.workFolders)
    val watch = new Told
    val warnings = Warnings.during("io.bucketstate") {
      watch.during {
        val one = warmUp(EnoughMs)(provider)
        one.start()
        while (watch.commits.isEmpty) Thread.onSpinWait()
        one.stop()
        one.await()
      }
    }
    assert(warnings.isEmpty)
    assert((LeftOvers.ofProcess, LeftOvers.workFolders) == before)
  }

  test("what fails in it is logged once, and leaves nothing") {
    val before = (LeftOvers.ofProcess, LeftOvers.workFolders)
    for (failure <- Seq(new IllegalStateException("no"), new NoClassDefFoundError("gone"))) {
      val warnings = Warnings.during("io.bucketstate")(run(EnoughMs)(throw failure))
      assert(warnings == Seq("The stores of this process begin cold: warming its JVM up failed"))
    }
    assert((LeftOvers.ofProcess, LeftOvers.workFolders) == before)
  }

  private def run(limitMs: Long, settings: (String, String)*)(make: => StateStoreProvider): Unit = {
    val one = warmUp(limitMs, settings: _*)(make)
    one.start()
    one.await()
  }

  private def warmUp(limitMs: Long, settings: (String, String)*)(
      make: => StateStoreProvider
  ): JvmWarmUp =
    new JvmWarmUp(() => make, new SparkConf(false).setAll(settings), new Configuration, limitMs)

  private def provider: StateStoreProvider = new BucketedStateStoreProvider
}

object JvmWarmUpSuite {
  private final val EnoughMs = 60000L

  /** What stores tell of themselves. */
  private class Told extends StoreWatch {
    val commits: ConcurrentLinkedQueue[CommitReport] = new ConcurrentLinkedQueue[CommitReport]
    val failures: ConcurrentLinkedQueue[Throwable] = new ConcurrentLinkedQueue[Throwable]

    def during(body: => Unit): Unit = {
      StoreWatch.begin(this)
      try body
      finally StoreWatch.end(this)
    }

    override def committed(store: WatchedStore, report: CommitReport): Unit = {
      commits.add(report)
      ()
    }

    override def failed(store: WatchedStore, failure: Throwable): Unit = {
      failures.add(failure)
      ()
    }

    override def taskFailed(store: WatchedStore, failure: Throwable): Unit = failed(store, failure)

    override def closed(store: WatchedStore): Unit = ()
  }
}
