package io.bucketstate.bench
package studies

import scala.util.Using

import org.apache.spark.sql.execution.streaming.state.{StateStore, StateStoreProvider}

import io.bucketstate.config.ConfigKey

/**
 * What it costs to look up keys that are in files alone, by the share of memory that is for reading these: even draws,
 * and such as come again. The memory is a part of the state, so what reads take is missing elsewhere, which is not seen
 * here: most keys are cold whatever the share is. Times are of the processor, so the disk's cache must have the files.
 */
object ColdReadBenchmark {
  private val Shares = Seq(0, 10, 40)

  /** About what a key takes in memory. */
  private val KeyBytes = 133L

  /** The state is so many times the memory. */
  private val Times = Seq(4, 20)

  def main(args: Array[String]): Unit =
    Commands.run(
      args,
      BenchOptions(contenders = Seq(Contender.bucketed), updates = 50000, rounds = 3)
    )(run)

  private def run(options: BenchOptions): Unit = {
    val results = Using.resource(WorkFolder.create(options.workDir)) { folder =>
      for {
        keys <- options.keyCounts
        times <- Times
        share <- Shares
        result <- new ColdReadRun(keys, times, share, options, folder).results()
      } yield result
    }
    Host.say("\n" + render(results))
    JsonReport.write(results, Nil, options)
  }

  private def render(results: Seq[ColdReadResult]): String =
    TextTable(
      "Look-ups of single keys in files",
      Seq(
        "keys",
        "state / memory",
        "share %",
        "draw",
        "us a key",
        "cold %",
        "filter %",
        "cache %",
        "files %"
      ),
      results.map { r =>
        Seq(Keys.show(r.keys), r.times.toString, r.share.toString, r.draw, f"${r.micros}%.2f") ++
          Seq(r.cold, r.byFilter, r.fromCache, r.fromFiles).map(n => f"${n * 100}%.0f")
      }
    ).render

  private final class ColdReadRun(
      keys: Int,
      times: Int,
      share: Int,
      options: BenchOptions,
      folder: WorkFolder
  ) {
    private val perBatch = 10000 // changes must fit in memory
    private val memory = math.max(1L << 20, keys * KeyBytes / times)
    private val settings = Map(
      ConfigKey.MemoryMaxBytes.key -> memory.toString,
      ConfigKey.SnapshotMode.key -> "sync",
      ConfigKey.SnapshotMaxVersions.key -> "5",
      ConfigKey.RunCacheShare.key -> share.toString
    )

    def results(): Seq[ColdReadResult] = {
      val checkpoint = folder.checkpoint(s"$keys-$times-$share-")
      val contender = Contender.bucketed.copy(settings = settings)
      val provider = contender.provider(options, checkpoint)
      try {
        val version = preload(provider)
        KeyDraw.all.map(measured(provider, version, _))
      } finally {
        provider.close()
        folder.delete(checkpoint)
      }
    }

    private def preload(provider: StateStoreProvider): Long = {
      val workload = new Workload(keys, perBatch, options.seed)
      var version = 0L
      (0 until keys by perBatch).foreach { first =>
        val store = provider.getStore(version)
        val n = workload.fillRange(first)
        (0 until n).foreach(i => store.put(workload.keyAt(i), workload.valueAt(i)))
        version = store.commit()
      }
      version
    }

    /** Every tenth key is none of the state's. */
    private def measured(
        provider: StateStoreProvider,
        version: Long,
        draw: KeyDraw
    ): ColdReadResult = {
      val workload = new Workload(keys / 9 * 10, options.updates, options.seed, draw)
      val rounds = (0 until options.rounds + 3).map { round =>
        workload.fillBatch(round)
        val store = provider.getReadStore(version)
        val start = Host.threadNanos()
        var found = 0
        var i = 0
        while (i < options.updates) {
          if (store.get(workload.keyAt(i)) != null) found += 1
          i += 1
        }
        val micros = (Host.threadNanos() - start) / 1e3 / options.updates
        store.release()
        require(found > 0, "no key was found")
        micros
      }
      val figures = drained(provider, version)
      def part(name: String): Double =
        figures.getOrElse(name, 0L) / ((options.rounds + 3.0) * options.updates)
      val result = ColdReadResult(
        keys,
        times,
        share,
        draw.name,
        Median.of(rounds.drop(3)),
        part("bucketedColdReads"),
        part("bucketedColdReadsByFilter"),
        part("bucketedColdReadsFromCache"),
        part("bucketedColdReadsFromFiles")
      )
      Host.progress(
        f"${draw.name}, a share of $share %%, $times times: ${result.micros}%.2f us a key"
      )
      result
    }

    /** A commit that changes nothing drains them. */
    private def drained(provider: StateStoreProvider, version: Long): Map[String, Long] = {
      val store: StateStore = provider.getStore(version)
      store.commit()
      store.metrics.customMetrics.map { case (metric, n) => metric.name -> n }
    }
  }
}

/**
 * One kind of look-ups; parts are of all of them.
 *
 * @param times how often the memory goes into the state
 * @param cold  what was in files alone
 */
final case class ColdReadResult(
    keys: Int,
    times: Int,
    share: Int,
    draw: String,
    micros: Double,
    cold: Double,
    byFilter: Double,
    fromCache: Double,
    fromFiles: Double
)
