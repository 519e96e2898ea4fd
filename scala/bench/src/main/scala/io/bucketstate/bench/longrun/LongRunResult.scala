package io.bucketstate.bench
package longrun

/**
 * One batch of a long run. Times are in milliseconds.
 *
 * @param open         the part of it in which the store was opened
 * @param collections  of garbage, that ended in it
 * @param backgroundMs processor time of this provider's background threads since the batch began
 * @param snapshotLag  versions that the newest snapshot was behind it, if the provider tells
 */
final case class BatchSample(
    number: Int,
    open: Double,
    ms: Double,
    collections: Long,
    collectionMs: Long,
    backgroundMs: Double,
    snapshotLag: Option[Long]
)

/**
 * What the counted batches of a run had in common.
 *
 * @param slow          how many took more than twice as long as the median
 * @param slowCollected how many of those met a collection of garbage
 * @param slowBeside    how many of those had background work of this provider beside them
 * @param slowest       the slowest ones first
 */
final case class BatchTimes(
    open: Spread,
    batch: Spread,
    slow: Int,
    slowCollected: Int,
    slowBeside: Int,
    slowest: Seq[BatchSample],
    lag: Option[SnapshotLag]
) {
  def p99PerP50: Double = batch.p99 / batch.p50
}

/** In versions. */
final case class SnapshotLag(mean: Double, largest: Long)

object BatchTimes {
  private val Listed = 5

  /** Below it is what a thread takes to look whether there is something to do. */
  private val WorkMs = 1.0

  def of(samples: Seq[BatchSample]): BatchTimes = {
    val batch = Spread.ofMillis(samples.map(_.ms))
    val slow = samples.filter(_.ms > 2 * batch.p50)
    val lags = samples.flatMap(_.snapshotLag)
    BatchTimes(
      Spread.ofMillis(samples.map(_.open)),
      batch,
      slow.size,
      slow.count(_.collections > 0),
      slow.count(_.backgroundMs > WorkMs),
      samples.sortBy(-_.ms).take(Listed),
      Option.when(lags.nonEmpty)(SnapshotLag(lags.sum.toDouble / lags.size, lags.max))
    )
  }
}

/** Processor time per update in microseconds: of the process, and of background threads alone. */
final case class ProcessorMicros(process: Double, background: Double)

/**
 * Milliseconds from asking a new provider for the version until one value was read, and until the first
 * batch was committed.
 */
final case class RestartTimes(firstGetMs: Double, firstBatchMs: Double)

/**
 * What one provider showed in a long run with snapshots, and at the restart after it.
 *
 * @param samples         all batches, the warm-up included
 * @param processorMicros over the counted batches
 * @param bytesPerUpdate  all that was written to the checkpoint, snapshots and their compaction included
 * @param folders         the folder after two thirds and after all of the batches
 * @param restart         medians; none if nothing is durable
 */
final case class LongRunResult(
    provider: String,
    keys: Int,
    times: BatchTimes,
    samples: Seq[BatchSample],
    processorMicros: ProcessorMicros,
    bytesPerUpdate: Double,
    folders: Seq[FolderSize],
    restart: Option[RestartTimes],
    loadOfOthers: Double
)
