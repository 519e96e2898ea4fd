package io.bucketstate.bench

/** The long run's results as tables, and what the project set out to reach. */
object LongRunReport {

  def render(results: Seq[LongRunResult], options: BenchOptions): String = {
    val head =
      s"${options.batches} batches of ${options.updates} random get+put with snapshots and " +
        s"maintenance beside them, then 5 restarts (medians); seed ${options.seed}"
    Seq(head, table(results), targetTable(results)).mkString("\n\n")
  }

  def targets(results: Seq[LongRunResult]): Seq[TargetOutcome] = {
    val sizes = results.map(_.keys).distinct.sorted
    val small = sizes.headOption.toSeq.flatMap(keys => atSize(keys, results.filter(_.keys == keys)))
    small ++ (for {
      ours <- results.filter(_.provider == Contender.bucketed.name).sortBy(_.keys).headOption.toSeq
      large <- results.filter(_.provider == Contender.bucketed.name).sortBy(_.keys).lastOption
      if large.keys > ours.keys
    } yield TargetOutcome(
      large.keys,
      s"first get after a restart against ${Keys.show(ours.keys)}",
      large.firstGetMs / ours.firstGetMs,
      1.3
    ))
  }

  private def atSize(keys: Int, results: Seq[LongRunResult]): Seq[TargetOutcome] = {
    def find(c: Contender) = results.find(_.provider == c.name)
    val alone = find(Contender.bucketed).toSeq.flatMap { r =>
      Seq(
        TargetOutcome(keys, "batch p99 / p50", r.batch.p99 / r.batch.p50, 2.0),
        TargetOutcome(keys, "capture of a snapshot (open p99), ms", r.open.p99, 1.0),
        TargetOutcome(keys, "first get after a restart, ms", r.firstGetMs, 50.0),
        TargetOutcome(
          keys,
          "folder after all batches / after two thirds",
          r.folders.last._1.toDouble / r.folders.head._1,
          1.1
        )
      )
    }
    val beside = for {
      r <- find(Contender.bucketed).toSeq
      rocksdb <- find(Contender.rocksdb).toSeq
      outcome <- Seq(
        TargetOutcome(
          keys,
          "bytes written per update, bucketed / rocksdb",
          r.bytesPerUpdate / rocksdb.bytesPerUpdate,
          0.65
        ),
        TargetOutcome(
          keys,
          "first get after a restart, bucketed / rocksdb",
          r.firstGetMs / rocksdb.firstGetMs,
          0.25
        ),
        TargetOutcome(
          keys,
          "first batch after a restart, bucketed / rocksdb",
          r.firstBatchMs / rocksdb.firstBatchMs,
          1.0
        ),
        TargetOutcome(
          keys,
          "bytes in the folder, bucketed / rocksdb",
          r.folders.last._1.toDouble / rocksdb.folders.last._1,
          1.0
        ),
        TargetOutcome(
          keys,
          "files in the folder, bucketed / rocksdb",
          r.folders.last._2.toDouble / rocksdb.folders.last._2,
          1.0
        )
      )
    } yield outcome
    alone ++ beside
  }

  private def table(results: Seq[LongRunResult]): String = {
    val rows = results.map { r =>
      val mib = r.folders.map { case (bytes, _) => f"${bytes / 1048576.0}%.0f" }
      val files = r.folders.map(_._2.toString)
      Seq(
        Keys.show(r.keys),
        r.provider,
        f"${r.open.p99}%.2f",
        f"${r.batch.p50}%.1f",
        f"${r.batch.p99}%.1f",
        f"${r.batch.max}%.1f",
        f"${r.bytesPerUpdate}%.0f"
      ) ++ mib ++ files ++ Seq(
        f"${r.firstGetMs}%.1f",
        f"${r.firstBatchMs}%.1f",
        f"${r.loadOfOthers * 100}%.0f"
      )
    }
    TextTable(
      "Milliseconds; folder in MiB and files after two thirds of the batches and after all",
      Seq(
        "keys",
        "provider",
        "open p99",
        "batch p50",
        "p99",
        "max",
        "bytes/update",
        "MiB 2/3",
        "MiB end",
        "files 2/3",
        "files end",
        "first get",
        "first batch",
        "others' CPU %"
      ),
      rows
    ).render
  }

  private def targetTable(results: Seq[LongRunResult]): String =
    Report.targetTable(targets(results)).mkString
}
