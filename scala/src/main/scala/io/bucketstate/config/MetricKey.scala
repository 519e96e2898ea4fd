package io.bucketstate.config

/** How a metric adds up over partitions and is shown: a count, bytes, or milliseconds. */
sealed abstract class MetricKind(val name: String)

object MetricKind {
  case object Sum extends MetricKind("sum")
  case object Size extends MetricKind("size")
  case object Timing extends MetricKind("timing")
}

/** One custom metric of a store, as it appears in `StreamingQueryProgress.stateOperators`. */
final case class MetricKey(name: String, kind: MetricKind, doc: String)

/** The registry of metrics: the one place that defines them, as [[ConfigKey]] is for settings. */
object MetricKey {
  import MetricKind._

  val ChangelogBytes: MetricKey =
    MetricKey("bucketedChangelogBytes", Size, "bytes of the changelog files this batch wrote")
  val ChangedKeys: MetricKey =
    MetricKey("bucketedChangedKeys", Sum, "keys this batch changed (last write per key)")
  val EncodeTime: MetricKey =
    MetricKey("bucketedEncodeTimeMs", Timing, "time to encode and compress the changelogs")
  val WriteTime: MetricKey =
    MetricKey("bucketedWriteTimeMs", Timing, "time to write and publish the changelog files")
  val TableHits: MetricKey =
    MetricKey("bucketedTableHits", Sum, "stores opened on the table in memory")
  val TableReopens: MetricKey =
    MetricKey("bucketedTableReopens", Sum, "stores opened by undoing versions in memory (retries)")
  val TableReloads: MetricKey =
    MetricKey("bucketedTableReloads", Sum, "stores opened by loading the checkpoint")
  val ReloadTime: MetricKey =
    MetricKey(
      "bucketedReloadTimeMs",
      Timing,
      "time to load the checkpoint when this store was opened"
    )
  val RetentionFailures: MetricKey =
    MetricKey("bucketedRetentionFailures", Sum, "files that maintenance could not delete, so far")

  val all: Seq[MetricKey] = Seq(
    ChangelogBytes,
    ChangedKeys,
    EncodeTime,
    WriteTime,
    TableHits,
    TableReopens,
    TableReloads,
    ReloadTime,
    RetentionFailures
  )
}
