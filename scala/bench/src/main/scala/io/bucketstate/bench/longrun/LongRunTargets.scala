package io.bucketstate.bench
package longrun

import io.bucketstate.spark.SparkSettings

/** What the project set out to reach in long runs, as pure arithmetic over results. */
object LongRunTargets {

  def of(results: Seq[LongRunResult], options: BenchOptions): Seq[TargetOutcome] = {
    val sizes = results.map(_.keys).distinct.sorted
    sizes.headOption.toSeq.flatMap { keys =>
      val here = results.filter(_.keys == keys)
      here.find(_.provider == Contender.bucketed.name).toSeq.flatMap { ours =>
        alone(ours, options) ++ besideLimits(here, ours) ++ besideRocksdb(here, ours)
      }
    } ++ growth(results)
  }

  private def alone(ours: LongRunResult, options: BenchOptions): Seq[TargetOutcome] = {
    val settings = SparkSettings.read(Contender.bucketed.storeConf(options))
    Seq(
      TargetOutcome(ours.keys, "batch p99 / p50", ours.times.p99PerP50, 2.0),
      TargetOutcome(ours.keys, "capture of a snapshot (open p99), ms", ours.times.open.p99, 1.0),
      TargetOutcome(
        ours.keys,
        "folder after all batches / after two thirds",
        ours.folders.last.bytes.toDouble / ours.folders.head.bytes,
        1.1
      )
    ) ++ ours.times.lag.map { lag =>
      val most = 2.0 * settings.snapshotMaxVersions
      TargetOutcome(ours.keys, "largest snapshot lag, versions", lag.largest.toDouble, most)
    } ++ ours.restart.map { restart =>
      TargetOutcome(ours.keys, "first get after a restart, ms", restart.firstGetMs, 50.0)
    }
  }

  /** Against the same without snapshots, and that against a bare hash map. */
  private def besideLimits(
      results: Seq[LongRunResult],
      ours: LongRunResult
  ): Seq[TargetOutcome] = {
    val without = find(results, Contender.withoutSnapshots)
    without.toSeq.flatMap { calm =>
      TargetOutcome(
        ours.keys,
        "batch p50, with snapshots / without",
        ours.times.batch.p50 / calm.times.batch.p50,
        1.2
      ) +: find(results, Contender.hashmap).toSeq.map { limit =>
        TargetOutcome(
          ours.keys,
          "batch p50, without snapshots / hash map",
          calm.times.batch.p50 / limit.times.batch.p50,
          1.5
        )
      }
    }
  }

  private def besideRocksdb(
      results: Seq[LongRunResult],
      ours: LongRunResult
  ): Seq[TargetOutcome] = for {
    theirs <- find(results, Contender.rocksdb).toSeq
    (what, number, target) <- Seq[(String, LongRunResult => Double, Double)](
      ("bytes written per update", _.bytesPerUpdate, 0.65),
      ("first get after a restart", _.restart.fold(0.0)(_.firstGetMs), 0.25),
      ("first batch after a restart", _.restart.fold(0.0)(_.firstBatchMs), 1.0),
      ("bytes in the folder", _.folders.last.bytes.toDouble, 1.0),
      ("files in the folder", _.folders.last.files.toDouble, 1.0)
    )
  } yield TargetOutcome(
    ours.keys,
    s"$what, bucketed / rocksdb",
    number(ours) / number(theirs),
    target
  )

  private def growth(results: Seq[LongRunResult]): Option[TargetOutcome] = {
    val ours = results.filter(_.provider == Contender.bucketed.name).sortBy(_.keys)
    for {
      small <- ours.headOption
      large <- ours.lastOption
      if large.keys > small.keys
      before <- small.restart
      after <- large.restart
    } yield TargetOutcome(
      large.keys,
      s"first get after a restart against ${Keys.show(small.keys)}",
      after.firstGetMs / before.firstGetMs,
      1.3
    )
  }

  private def find(results: Seq[LongRunResult], contender: Contender): Option[LongRunResult] =
    results.find(_.provider == contender.name)
}
