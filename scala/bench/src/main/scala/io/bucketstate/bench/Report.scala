package io.bucketstate.bench

/** Results as tables for people. */
object Report {
  def render(
      results: Seq[RunResult],
      targets: Seq[TargetOutcome],
      options: BenchOptions
  ): String =
    (Seq(workload(options), times(results), growth(results), space(results)) ++ calls(results) ++
      targetTable(targets)).mkString("\n\n")

  private def workload(o: BenchOptions): String =
    s"${o.batches} batches (${o.warmUp} of them warm-up) of ${o.updates} random get+put on keys and " +
      s"values of 168 bytes together, seed ${o.seed}, ${o.rounds} round(s), " +
      s"file system: ${o.fileAccess.name}" +
      o.heap.fold("")(heap => s"; each provider in a JVM of its own with a heap of $heap")

  private def times(results: Seq[RunResult]): String = {
    val rows = for {
      r <- results
    } yield Seq(Keys.show(r.keys), r.provider) ++
      Seq(r.open, r.getPut, r.commit, r.batch).flatMap(s => Seq(s.p50, s.p99, s.max)).map(ms)
    val phases = Seq("open", "get+put", "commit", "batch")
    val header = Seq("keys", "provider") ++
      phases.flatMap(phase => Seq(s"$phase p50", "p99", "max"))
    TextTable("Milliseconds per batch", header, rows).render
  }

  private def growth(results: Seq[RunResult]): String = {
    val sizes = results.map(_.keys).distinct.sorted
    val rows = for (provider <- results.map(_.provider).distinct) yield {
      val bySize = results.filter(_.provider == provider).map(r => r.keys -> r.batch.p50).toMap
      provider +: sizes.map(size => f"${bySize(size) / bySize(sizes.head)}%.2f")
    }
    TextTable(
      s"Batch p50 relative to ${Keys.show(sizes.head)} keys",
      "provider" +: sizes.map(Keys.show),
      rows
    ).render
  }

  private def space(results: Seq[RunResult]): String = {
    val rows = results.map { r =>
      Seq(
        Keys.show(r.keys),
        r.provider,
        f"${r.heapBytes / (1 << 20)}%.1f",
        f"${r.heapBytes / r.keys}%.0f",
        mib(r.resident.map(_.bytes)),
        mib(r.resident.map(_.most)),
        mib(r.resident.map(_.heap)),
        f"${r.batchBytesPerUpdate}%.0f",
        f"${r.maintenanceBytesPerUpdate}%.0f",
        f"${r.filesPerBatch}%.2f",
        ms(r.maintenanceMs),
        f"${r.loadOfOthers * 100}%.0f"
      )
    }
    TextTable(
      "Heap after the run (RocksDB's native memory is not in it), memory of the process after the last " +
        "batch and at most (all is in it) and what the heap had of it then, what was written to the checkpoint (checksum files included), one doMaintenance, and how busy other processes kept the machine",
      Seq(
        "keys",
        "provider",
        "heap MiB",
        "heap bytes/key",
        "resident MiB",
        "most",
        "of it heap",
        "batch bytes/update",
        "maintenance bytes/update",
        "files/batch",
        "maintenance p50 ms",
        "others' CPU %"
      ),
      rows
    ).render
  }

  private def calls(results: Seq[RunResult]): Seq[String] = {
    val names = CountedFileSystem.Call.values.toSeq.map(_.toString.toLowerCase)
    val rows = for {
      r <- results
      (what, counts) <- Seq("batch" -> r.batchCalls, "maintenance" -> r.maintenanceCalls)
      perRound <- counts
    } yield Seq(Keys.show(r.keys), r.provider, what) ++
      (names.map(perRound) :+ perRound.values.sum).map(n => f"$n%.1f")
    if (rows.isEmpty) Nil
    else {
      val header = Seq("keys", "provider", "per") ++ names :+ "all"
      Seq(TextTable("File-system calls, background work included", header, rows).render)
    }
  }

  def targetTable(outcomes: Seq[TargetOutcome]): Seq[String] = {
    val rows = outcomes.map { t =>
      Seq(
        Keys.show(t.keys),
        t.what,
        f"${t.measured}%.3f",
        f"<= ${t.target}%.3f",
        if (t.reached) "yes" else "no"
      )
    }
    if (rows.isEmpty) Nil
    else {
      val header = Seq("keys", "target", "measured", "allowed", "reached")
      Seq(TextTable("Targets", header, rows).render)
    }
  }

  private def mib(bytes: Option[Long]): String = bytes.fold("-")(n => (n >> 20).toString)

  private def ms(value: Double): String = if (value < 10) f"$value%.2f" else f"$value%.1f"
}
