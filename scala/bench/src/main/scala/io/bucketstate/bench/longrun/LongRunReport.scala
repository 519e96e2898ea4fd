package io.bucketstate.bench
package longrun

/** The long run's results as tables. */
object LongRunReport {

  /** @param died of whom there is no result, and why */
  def render(
      results: Seq[LongRunResult],
      died: Seq[String],
      targets: Seq[TargetOutcome],
      options: BenchOptions
  ): String = {
    val head =
      s"${options.batches} batches of ${options.updates} random get+put with snapshots and " +
        s"maintenance beside them, then 5 restarts (medians); seed ${options.seed}"
    val tables = Seq(head, batches(results), slowest(results), files(results))
    (tables ++ died ++ Report.targetTable(targets)).mkString("\n\n")
  }

  private def batches(results: Seq[LongRunResult]): String = {
    val rows = results.map { r =>
      val times = r.times
      Seq(
        Keys.show(r.keys),
        r.provider,
        f"${times.open.p99}%.2f",
        f"${times.batch.p50}%.1f",
        f"${times.batch.p99}%.1f",
        f"${times.batch.max}%.1f",
        f"${times.p99PerP50}%.2f",
        times.slow.toString,
        times.slowCollected.toString,
        times.slowBeside.toString,
        times.lag.fold("-")(lag => f"${lag.mean}%.1f"),
        times.lag.fold("-")(_.largest.toString),
        f"${r.processorMicros.process}%.2f",
        f"${r.processorMicros.background}%.2f",
        f"${r.loadOfOthers * 100}%.0f"
      )
    }
    TextTable(
      "Milliseconds per batch; 'slow' are more than twice the median, and of those how many met a " +
        "collection of garbage and how many background work; snapshot lag in versions; processor time " +
        "per update in microseconds",
      Seq(
        "keys",
        "provider",
        "open p99",
        "batch p50",
        "p99",
        "max",
        "p99/p50",
        "slow",
        "with GC",
        "with work",
        "lag mean",
        "lag max",
        "CPU/update",
        "background",
        "others' CPU %"
      ),
      rows
    ).render
  }

  private def slowest(results: Seq[LongRunResult]): String = {
    val rows = for {
      r <- results
      sample <- r.times.slowest
    } yield Seq(
      Keys.show(r.keys),
      r.provider,
      sample.number.toString,
      f"${sample.ms}%.1f",
      sample.collections.toString,
      sample.collectionMs.toString,
      f"${sample.backgroundMs}%.1f"
    )
    TextTable(
      "The slowest batches: collections of garbage in them and their milliseconds, and the processor " +
        "milliseconds of background threads meanwhile",
      Seq("keys", "provider", "batch", "ms", "GCs", "GC ms", "background ms"),
      rows
    ).render
  }

  private def files(results: Seq[LongRunResult]): String = {
    val rows = results.map { r =>
      Seq(Keys.show(r.keys), r.provider, f"${r.bytesPerUpdate}%.0f") ++
        r.folders.map(size => f"${size.bytes / 1048576.0}%.0f") ++
        r.folders.map(_.files.toString) ++
        Seq(
          r.restart.fold("-")(times => f"${times.firstGetMs}%.1f"),
          r.restart.fold("-")(times => f"${times.firstBatchMs}%.1f")
        )
    }
    TextTable(
      "Bytes written per update; the folder in MiB and files after two thirds of the batches and " +
        "after all; milliseconds after a restart",
      Seq(
        "keys",
        "provider",
        "bytes/update",
        "MiB 2/3",
        "MiB end",
        "files 2/3",
        "files end",
        "first get",
        "first batch"
      ),
      rows
    ).render
  }
}
