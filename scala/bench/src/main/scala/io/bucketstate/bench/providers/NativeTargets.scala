package io.bucketstate.bench
package providers

/** What the engine with local databases is held to beside Spark's RocksDB, both with the same memory. */
object NativeTargets {

  def of(results: Seq[RunResult]): Seq[TargetOutcome] = for {
    keys <- results.map(_.keys).distinct.sorted
    here = results.filter(_.keys == keys)
    ours <- find(here, Contender.native).toSeq
    outcome <- heap(ours) +: (besideRocksdb(here, ours) ++ besideHeapEngine(here, ours))
  } yield outcome

  private def heap(ours: RunResult): TargetOutcome =
    TargetOutcome(ours.keys, "heap, MB", ours.heapBytes / 1e6, 60.0)

  private def besideRocksdb(results: Seq[RunResult], ours: RunResult): Seq[TargetOutcome] = {
    val theirs = find(results, Contender.rocksdb).toSeq
    val times = for {
      other <- theirs
      (what, number, target) <- Seq[(String, RunResult => Double, Double)](
        ("batch p50", _.batch.p50, 0.4),
        ("batch p99", _.batch.p99, 0.5),
        ("commit p50", _.commit.p50, 0.5)
      )
    } yield ratio(ours, what, other, number(ours) / number(other), target)
    val memory = for {
      other <- theirs
      most <- ours.resident.map(_.most)
      theirMost <- other.resident.map(_.most)
    } yield ratio(ours, "resident memory at most", other, most.toDouble / theirMost, 1.0)
    times ++ memory
  }

  /** As much as the other engine writes, but for what chance makes of when snapshots are due. */
  private def besideHeapEngine(results: Seq[RunResult], ours: RunResult): Seq[TargetOutcome] =
    find(results, Contender.bucketed).toSeq.map { other =>
      ratio(
        ours,
        "bytes written per update",
        other,
        ours.bytesPerUpdate / other.bytesPerUpdate,
        1.1
      )
    }

  private def ratio(
      ours: RunResult,
      what: String,
      other: RunResult,
      measured: Double,
      target: Double
  ): TargetOutcome =
    TargetOutcome(ours.keys, s"$what, ${ours.provider} / ${other.provider}", measured, target)

  private def find(results: Seq[RunResult], contender: Contender): Option[RunResult] =
    results.find(_.provider == contender.name)
}
