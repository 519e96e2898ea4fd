package io.bucketstate.bench

/** Milliseconds of one phase over the counted batches. */
final case class Spread(p50: Double, p99: Double, max: Double)

object Spread {
  def of(nanos: Seq[Long]): Spread = ofMillis(nanos.map(_ / 1e6))

  def ofMillis(millis: Seq[Double]): Spread = {
    val sorted = millis.sorted
    Spread(percentile(sorted, 0.50), percentile(sorted, 0.99), sorted.last)
  }

  def median(spreads: Seq[Spread]): Spread =
    Spread(
      Median.of(spreads.map(_.p50)),
      Median.of(spreads.map(_.p99)),
      Median.of(spreads.map(_.max))
    )

  /** Nearest rank: a value that was measured, never one between two. */
  private def percentile(sorted: Seq[Double], p: Double): Double =
    sorted(math.max(0, math.ceil(p * sorted.size).toInt - 1))
}

object Median {
  def of(values: Seq[Double]): Double = {
    val sorted = values.sorted
    val middle = sorted.size / 2
    if (sorted.size % 2 == 1) sorted(middle) else (sorted(middle - 1) + sorted(middle)) / 2
  }
}

/**
 * What one provider showed at one size. Bytes are split by when they were seen in the checkpoint, during
 * a batch or during maintenance; calls are per batch and per maintenance, if counted.
 *
 * @param resident after the last batch, of a JVM that this provider had for itself; else none
 */
final case class RunResult(
    provider: String,
    keys: Int,
    open: Spread,
    getPut: Spread,
    commit: Spread,
    batch: Spread,
    maintenanceMs: Double,
    heapBytes: Double,
    batchBytesPerUpdate: Double,
    maintenanceBytesPerUpdate: Double,
    filesPerBatch: Double,
    loadOfOthers: Double,
    resident: Option[Resident],
    batchCalls: Option[Map[String, Double]],
    maintenanceCalls: Option[Map[String, Double]]
) {
  def bytesPerUpdate: Double = batchBytesPerUpdate + maintenanceBytesPerUpdate
}

object RunResult {

  /** Rounds of the same provider and size in one: the median of every number. */
  def median(rounds: Seq[RunResult]): RunResult = rounds.head.copy(
    open = Spread.median(rounds.map(_.open)),
    getPut = Spread.median(rounds.map(_.getPut)),
    commit = Spread.median(rounds.map(_.commit)),
    batch = Spread.median(rounds.map(_.batch)),
    maintenanceMs = Median.of(rounds.map(_.maintenanceMs)),
    heapBytes = Median.of(rounds.map(_.heapBytes)),
    batchBytesPerUpdate = Median.of(rounds.map(_.batchBytesPerUpdate)),
    maintenanceBytesPerUpdate = Median.of(rounds.map(_.maintenanceBytesPerUpdate)),
    filesPerBatch = Median.of(rounds.map(_.filesPerBatch)),
    loadOfOthers = Median.of(rounds.map(_.loadOfOthers)),
    resident = medianResident(rounds.flatMap(_.resident)),
    batchCalls = medianCalls(rounds.flatMap(_.batchCalls)),
    maintenanceCalls = medianCalls(rounds.flatMap(_.maintenanceCalls))
  )

  private def medianResident(rounds: Seq[Resident]): Option[Resident] =
    Option.when(rounds.nonEmpty) {
      def median(number: Resident => Long): Long = Median.of(rounds.map(number(_).toDouble)).toLong
      Resident(median(_.bytes), median(_.most), median(_.heap))
    }

  private def medianCalls(rounds: Seq[Map[String, Double]]): Option[Map[String, Double]] =
    rounds.headOption.map(_.map { case (call, _) => call -> Median.of(rounds.map(_(call))) })
}
