package io.bucketstate.bench
package tws

/**
 * What one provider showed at one size, in milliseconds; commits are those of both partitions, added up.
 *
 * @param emptyMs     from the start of a query without state to the end of its first batch, in a JVM of its own
 * @param restartMs   the same from the checkpoint, median
 * @param restartLoad what the provider says the load was of it, median
 * @param processorMs of the process per batch, median
 * @param batches     all batches of the run, those that are not counted included
 */
final case class TwsResult(
    provider: String,
    keys: Int,
    batch: Spread,
    execution: Spread,
    commit: Spread,
    processorMs: Double,
    emptyMs: Double,
    restartMs: Double,
    restartBatchMs: Double,
    restartLoad: Double,
    bytesPerRow: Double,
    heapBytes: Double,
    resident: Option[Resident],
    loadOfOthers: Double,
    batches: Seq[TwsBatch]
)

object TwsResult {
  def of(
      provider: String,
      keys: Int,
      options: BenchOptions,
      run: TwsSample,
      restarts: Seq[TwsSample]
  ): TwsResult = {
    val counted = run.batches.drop(options.warmUp)
    def spread(number: TwsBatch => Double): Spread = Spread.ofMillis(counted.map(number))
    TwsResult(
      provider,
      keys,
      spread(_.wholeMs),
      spread(_.executionMs),
      spread(_.commitMs),
      Median.of(counted.map(_.processorMs)),
      run.firstMs,
      Median.of(restarts.map(_.firstMs)),
      Median.of(restarts.map(_.batches.head.wholeMs)),
      Median.of(restarts.map(_.batches.head.loadMs)),
      counted.map(_.bytes).sum.toDouble / (counted.size.toDouble * options.updates),
      run.heapBytes,
      run.resident,
      (run +: restarts).map(_.loadOfOthers).max,
      run.batches
    )
  }
}

object TransformWithStateReport {

  def targets(results: Seq[TwsResult]): Seq[TargetOutcome] = for {
    ours <- results if ours.provider == Contender.bucketed.name
    theirs <- results
    if theirs.keys == ours.keys && Contender.sparksRocksdb.exists(_.name == theirs.provider)
    (what, number, target) <- Seq[(String, TwsResult => Double, Double)](
      ("batch p50", _.batch.p50, 0.5),
      ("commit p50", _.commit.p50, 0.2),
      ("first batch after a restart", _.restartMs, 0.7)
    )
  } yield TargetOutcome(
    ours.keys,
    s"$what, bucketed / ${theirs.provider}",
    number(ours) / number(theirs),
    target
  )

  def render(
      results: Seq[TwsResult],
      targets: Seq[TargetOutcome],
      options: BenchOptions
  ): String =
    (Seq(workload(options), times(results), starts(results), space(results)) ++
      Report.targetTable(targets)).mkString("\n\n")

  private def workload(o: BenchOptions): String =
    s"${o.batches} batches (${o.warmUp} of them not counted) of ${o.updates} rows in two partitions: a " +
      "value, a list, a map with TTL and two timers for each key; each provider in a JVM of its own" +
      o.heap.fold("")(heap => s" with a heap of $heap") + s"; ${o.rounds} restart(s)"

  private def times(results: Seq[TwsResult]): String = table(
    "Milliseconds per batch, of both commits together, and of processor time with all that runs beside",
    Seq("batch p50", "p99", "execution p50", "p99", "commits p50", "p99", "processor time p50"),
    results
  ) { r =>
    val spreads = Seq(r.batch, r.execution, r.commit)
    (spreads.flatMap(s => Seq(s.p50, s.p99)) :+ r.processorMs).map(whole)
  }

  private def starts(results: Seq[TwsResult]): String = table(
    "Milliseconds from the start of a query to the end of its first batch, in a JVM of its own",
    Seq("without state", "from the checkpoint", "of it the batch", "of it loading, all partitions"),
    results
  )(r => Seq(r.emptyMs, r.restartMs, r.restartBatchMs, r.restartLoad).map(whole))

  private def space(results: Seq[TwsResult]): String = table(
    "What was written to the checkpoint's state, and memory (RocksDB's native memory is not in the heap)",
    Seq(
      "bytes/row",
      "rows of state",
      "heap MiB",
      "resident MiB",
      "most",
      "others' CPU %"
    ),
    results
  ) { r =>
    Seq(
      whole(r.bytesPerRow),
      r.batches.last.stateRows.toString,
      whole(r.heapBytes / (1 << 20)),
      mib(r.resident.map(_.bytes)),
      mib(r.resident.map(_.most)),
      whole(r.loadOfOthers * 100)
    )
  }

  private def table(title: String, header: Seq[String], results: Seq[TwsResult])(
      cells: TwsResult => Seq[String]
  ): String =
    TextTable(
      title,
      Seq("keys", "provider") ++ header,
      results.map(r => Seq(Keys.show(r.keys), r.provider) ++ cells(r))
    ).render

  private def mib(bytes: Option[Long]): String = bytes.fold("-")(n => (n >> 20).toString)

  private def whole(value: Double): String = f"$value%.0f"
}
