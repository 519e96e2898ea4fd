package io.bucketstate.plugin.status

import io.bucketstate.config.MetricKey
import io.bucketstate.watch.{OperatorLabel, StoreLabel}

/**
 * How one store stands after its last commit. Immutable.
 *
 * @param commits of this process
 * @param changed keys that these commits changed, in all
 * @param changelogBytes what these commits wrote, in all
 * @param last    what the last of them changed and took
 * @param gauges  the project's own metrics of the last commit that tell how things stand; one that is not there is 0
 * @param isLoaded whether the store is there; if not, this is how it stood when it was closed
 */
final case class StoreStatus(
    label: StoreLabel,
    version: Long,
    keys: Long,
    memoryBytes: Long,
    commits: Long,
    changed: Long,
    changelogBytes: Long,
    last: LastCommit,
    gauges: Map[MetricKey, Long],
    isLoaded: Boolean = true
) {

  /** A store that is closed has given back what it had in memory and in local files. */
  def closed: StoreStatus =
    copy(memoryBytes = 0L, gauges = gauges -- StoreStatus.OfLoaded, isLoaded = false)

  /** Versions that the newest snapshot is behind: what a restart replays. */
  def lag: Long = gauges.getOrElse(MetricKey.SnapshotLag, 0L)

  /** Bytes of the newest snapshot. */
  def snapshotBytes: Long = gauges.getOrElse(MetricKey.ColdBytes, 0L)
}

object StoreStatus {

  /** The gauges of what a store has beside its checkpoint. */
  private val OfLoaded = Set(
    MetricKey.MemoryLimit,
    MetricKey.DbLag,
    MetricKey.DbFileBytes,
    MetricKey.DbFiles,
    MetricKey.DbUnflushedBytes,
    MetricKey.DbMemory
  )

  /** How a store stands that has not committed. */
  def none(label: StoreLabel): StoreStatus =
    StoreStatus(label, 0L, 0L, 0L, 0L, 0L, 0L, LastCommit(0L, 0L), Map.empty)
}

/** One commit: how many keys it changed, and how long it took. */
final case class LastCommit(changed: Long, nanos: Long)

/**
 * What the stores of one operator have done in one process, whether or not they are still there. Immutable.
 *
 * @param commitTimes how many commits took how long
 * @param loadTimes   how many loads of the checkpoint took how long
 * @param failures    by kind
 * @param counters    the project's own metrics that count, added up; one that is not there is 0
 */
final case class OperatorStatus(
    label: OperatorLabel,
    commitTimes: Histogram,
    loadTimes: Histogram,
    failures: Map[String, Long],
    counters: Map[MetricKey, Long]
) {
  def +(other: OperatorStatus): OperatorStatus = OperatorStatus(
    label,
    commitTimes + other.commitTimes,
    loadTimes + other.loadTimes,
    Totals.sum(failures, other.failures),
    Totals.sum(counters, other.counters)
  )
}

object OperatorStatus {
  def none(label: OperatorLabel): OperatorStatus =
    OperatorStatus(label, Histogram.Empty, Histogram.Empty, Map.empty, Map.empty)
}

/**
 * What one process that has stores tells of itself. The driver is always told of it as a whole, so that one that got lost
 * does not matter; the log of an application has parts, too. Immutable.
 *
 * @param memoryBytes what the state of all stores takes in the heap
 * @param memoryLimit what it may take
 * @param queued      work beside the batches that no thread has begun
 * @param stores      also those that were closed, unless another process has them
 * @param loaded      how many stores it has loaded, where these are a part of them
 */
final case class ExecutorStatus(
    executor: String,
    memoryBytes: Long,
    memoryLimit: Long,
    queued: Int,
    stores: Seq[StoreStatus],
    operators: Seq[OperatorStatus],
    loaded: Option[Int] = None
) {

  /** How many stores it has loaded. */
  def storeCount: Int = loaded.getOrElse(stores.count(_.isLoaded))
}

object ExecutorStatus {

  /** A process that has no stores. */
  val Empty: ExecutorStatus = ExecutorStatus("", 0L, 0L, 0, Nil, Nil)
}

private[plugin] object Totals {
  def sum[K](one: Map[K, Long], other: Map[K, Long]): Map[K, Long] =
    other.foldLeft(one) { case (all, (key, n)) => all.updated(key, all.getOrElse(key, 0L) + n) }
}
