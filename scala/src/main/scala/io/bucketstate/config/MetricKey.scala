package io.bucketstate.config

/** How a metric adds up over partitions and is shown: a count, bytes, or milliseconds. */
sealed abstract class MetricKind(val name: String)

object MetricKind {
  case object Sum extends MetricKind("sum")
  case object Size extends MetricKind("size")
  case object Timing extends MetricKind("timing")
}

/** How the values of a metric go together over batches. */
sealed abstract class MetricType(val name: String)

object MetricType {

  /** What has happened since the last report: the values of batches add up. */
  case object Counter extends MetricType("counter")

  /** How things stand: the last value counts, or the highest; a sum over batches means nothing. */
  case object Gauge extends MetricType("gauge")
}

/** What a gauge of several partitions comes to. */
sealed abstract class MetricOver(val name: String)

object MetricOver {
  case object Sum extends MetricOver("sum")

  /** The highest one counts: of versions that something is behind the sum of two partitions' says nothing. */
  case object Highest extends MetricOver("highest")
}

/**
 * One custom metric of a store, as it appears in `StreamingQueryProgress.stateOperators`.
 *
 * @param over what the partitions of an operator come to where the plugin adds them up; Spark itself takes their sum
 */
final case class MetricKey(
    name: String,
    metricType: MetricType,
    kind: MetricKind,
    doc: String,
    over: MetricOver = MetricOver.Sum
) {

  /** Its name for Prometheus: words in lower case, times in seconds, what is counted as a total. */
  def prometheus: String = {
    val words = name.stripPrefix("bucketed").replaceAll("([a-z0-9])([A-Z])", "$1_$2").toLowerCase
    val unit = if (kind == MetricKind.Timing) words.stripSuffix("_ms") + "_seconds" else words
    val total = if (metricType == MetricType.Counter) "_total" else ""
    s"${MetricKey.PrometheusPrefix}$unit$total"
  }

  /** What one of it is in the unit of [[prometheus]]. */
  def prometheusUnit: Double = if (kind == MetricKind.Timing) 1e-3 else 1.0
}

/** The registry of metrics: the one place that defines them, as [[ConfigKey]] is for settings. */
object MetricKey {
  import MetricKind._

  /** What every name for Prometheus begins with. */
  val PrometheusPrefix = "bucketstate_"

  val ChangelogBytes: MetricKey =
    counter("bucketedChangelogBytes", Size, "bytes of the changelog files this batch wrote")
  val ChangedKeys: MetricKey =
    counter("bucketedChangedKeys", Sum, "keys this batch changed (last write per key)")
  val EncodeTime: MetricKey =
    counter("bucketedEncodeTimeMs", Timing, "time to encode and compress the changelogs")
  val WriteTime: MetricKey =
    counter("bucketedWriteTimeMs", Timing, "time to write and publish the changelog files")
  val TableHits: MetricKey =
    counter("bucketedTableHits", Sum, "stores opened on the table in memory")
  val TableReopens: MetricKey =
    counter("bucketedTableReopens", Sum, "stores opened by undoing versions in memory (retries)")
  val TableReloads: MetricKey =
    counter("bucketedTableReloads", Sum, "stores opened by loading the checkpoint")
  val ReloadTime: MetricKey =
    counter(
      "bucketedReloadTimeMs",
      Timing,
      "time to load the checkpoint when this store was opened"
    )
  val RetentionFailures: MetricKey =
    gauge(
      "bucketedRetentionFailures",
      Sum,
      "files that the last maintenance could not delete; 1 if it could not list them"
    )
  val Snapshots: MetricKey =
    counter("bucketedSnapshots", Sum, "snapshots finished since the last report")
  val SnapshotTime: MetricKey =
    counter("bucketedSnapshotTimeMs", Timing, "time those snapshots took, beside the batches")
  val SnapshotFailures: MetricKey =
    counter("bucketedSnapshotFailures", Sum, "snapshots that failed since the last report")
  val SnapshotLag: MetricKey =
    highest("bucketedSnapshotLag", Sum, "versions that the newest snapshot is behind this one")
  val Runs: MetricKey =
    highest("bucketedRuns", Sum, "runs that the newest snapshot consists of")
  val RunBytes: MetricKey =
    counter("bucketedRunBytes", Size, "bytes of the runs written since the last report")
  val CompactionBytes: MetricKey =
    counter("bucketedCompactionBytes", Size, "those of them that were rewritten from older runs")
  val LazyLoads: MetricKey =
    counter("bucketedLazyLoads", Sum, "buckets that had to be loaded when a batch touched them")
  val WarmUpFailures: MetricKey =
    counter(
      "bucketedWarmUpFailures",
      Sum,
      "failures to load the rest of the state after a restart, beside the batches, since the last report"
    )
  val MemoryLimit: MetricKey =
    gauge(
      "bucketedMemoryLimitBytes",
      Size,
      "what memory.maxBytes comes to, divided by the number of stores that share it"
    )
  val Evictions: MetricKey =
    counter("bucketedEvictions", Sum, "buckets that left memory, since the last report")
  val EvictedBytes: MetricKey =
    counter("bucketedEvictedBytes", Size, "heap that this gave back, an estimate")
  val ColdBuckets: MetricKey =
    gauge("bucketedColdBuckets", Sum, "buckets of which a part is in files alone")
  val ColdBytes: MetricKey =
    gauge("bucketedColdBytes", Size, "bytes of the newest snapshot, which has what left memory")
  val ColdReads: MetricKey =
    counter("bucketedColdReads", Sum, "keys that this batch looked up in files")
  val ColdReadsByFilter: MetricKey =
    counter(
      "bucketedColdReadsByFilter",
      Sum,
      "of them, those that filters and indexes in memory answered alone"
    )
  val ColdReadsFromCache: MetricKey =
    counter(
      "bucketedColdReadsFromCache",
      Sum,
      "of them, those that needed blocks, which were all in the cache"
    )
  val ColdReadsFromFiles: MetricKey =
    counter("bucketedColdReadsFromFiles", Sum, "of them, those that had to read a file")
  val MemoryFlushes: MetricKey =
    counter(
      "bucketedMemoryFlushes",
      Sum,
      "snapshots made early because changes alone were too much for memory.maxBytes"
    )
  val ExpiredKeys: MetricKey =
    counter("bucketedExpiredKeys", Sum, "keys that expired when this batch began")
  val LateWrites: MetricKey =
    counter(
      "bucketedLateWrites",
      Sum,
      "writes of this batch that were dropped because their time had expired already"
    )
  val TimeBuckets: MetricKey =
    gauge("bucketedTimeBuckets", Sum, "time buckets that hold keys")
  val Uncounted: MetricKey =
    gauge(
      "bucketedUncounted",
      Sum,
      "stores whose keys are not counted, because exactKeyCount is or was false: numRowsTotal has their number at the last snapshot that counted them, or 0"
    )
  val DbLag: MetricKey =
    highest("bucketedDbLag", Sum, "versions that local databases are behind this one")
  val DbCacheHits: MetricKey =
    counter("bucketedDbCacheHits", Sum, "blocks of databases that were read from the block cache")
  val DbCacheMisses: MetricKey =
    counter("bucketedDbCacheMisses", Sum, "blocks of databases that were read from files")
  val DbFlushBytes: MetricKey =
    counter("bucketedDbFlushBytes", Size, "bytes that databases wrote to files out of memory")
  val DbCompactionBytes: MetricKey =
    counter("bucketedDbCompactionBytes", Size, "bytes that compactions of databases wrote")
  val DbCompactionTime: MetricKey =
    counter(
      "bucketedDbCompactionTimeMs",
      Timing,
      "time those compactions took, beside the batches"
    )
  val DbStallTime: MetricKey =
    counter(
      "bucketedDbStallTimeMs",
      Timing,
      "time that writes to databases waited for flushes or compactions, beside the batches"
    )
  val DbFileBytes: MetricKey =
    gauge("bucketedDbFileBytes", Size, "bytes of the files of local databases")
  val DbFiles: MetricKey =
    gauge("bucketedDbFiles", Sum, "files of local databases, over all levels")
  val DbUnflushedBytes: MetricKey =
    gauge("bucketedDbUnflushedBytes", Size, "bytes in write buffers of local databases")
  val DbMemory: MetricKey =
    gauge(
      "bucketedDbMemoryBytes",
      Size,
      "native memory of local databases: block cache, cached records, write buffers, indexes and filters"
    )
  val ObjectPuts: MetricKey =
    counter("bucketedObjectPuts", Sum, "files written to an object store since the last report")
  val ObjectGets: MetricKey =
    counter(
      "bucketedObjectGets",
      Sum,
      "reads of files in an object store since the last report, each a request"
    )
  val ObjectHeads: MetricKey =
    counter(
      "bucketedObjectHeads",
      Sum,
      "times that an object store was asked for a file's length since the last report"
    )
  val ObjectLists: MetricKey =
    counter(
      "bucketedObjectLists",
      Sum,
      "folders listed in an object store since the last report"
    )
  val ObjectDeletes: MetricKey =
    counter(
      "bucketedObjectDeletes",
      Sum,
      "requests that deleted files from an object store since the last report, many files each"
    )
  val Repairs: MetricKey =
    counter(
      "bucketedRepairs",
      Sum,
      "damaged snapshots that were passed over since the last report"
    )
  val InternalKeys: MetricKey =
    gauge(
      "bucketedInternalKeys",
      Sum,
      "keys that operators keep for themselves, which are not counted as rows of the state"
    )
  val ExternalFamilies: MetricKey =
    gauge(
      "bucketedExternalColumnFamilies",
      Sum,
      "column families of the query's own state, such as state variables, and the default one, over all partitions"
    )
  val InternalFamilies: MetricKey =
    gauge(
      "bucketedInternalColumnFamilies",
      Sum,
      "column families that operators keep for themselves, such as timers and indexes of times to live, over all partitions"
    )

  /** Under the name that Spark's own providers use. */
  val ForcedSnapshots: MetricKey =
    counter("forceSnapshotCount", Sum, "snapshots that Spark asked for in commits")

  val all: Seq[MetricKey] = Seq(
    ChangelogBytes,
    ChangedKeys,
    EncodeTime,
    WriteTime,
    TableHits,
    TableReopens,
    TableReloads,
    ReloadTime,
    RetentionFailures,
    Snapshots,
    SnapshotTime,
    SnapshotFailures,
    SnapshotLag,
    Runs,
    RunBytes,
    CompactionBytes,
    LazyLoads,
    WarmUpFailures,
    MemoryLimit,
    Evictions,
    EvictedBytes,
    ColdBuckets,
    ColdBytes,
    ColdReads,
    ColdReadsByFilter,
    ColdReadsFromCache,
    ColdReadsFromFiles,
    MemoryFlushes,
    ExpiredKeys,
    LateWrites,
    TimeBuckets,
    Uncounted,
    DbLag,
    DbCacheHits,
    DbCacheMisses,
    DbFlushBytes,
    DbCompactionBytes,
    DbCompactionTime,
    DbStallTime,
    DbFileBytes,
    DbFiles,
    DbUnflushedBytes,
    DbMemory,
    ObjectPuts,
    ObjectGets,
    ObjectHeads,
    ObjectLists,
    ObjectDeletes,
    Repairs,
    InternalKeys,
    ExternalFamilies,
    InternalFamilies,
    ForcedSnapshots
  )

  private def counter(name: String, kind: MetricKind, doc: String): MetricKey =
    MetricKey(name, MetricType.Counter, kind, doc)

  private def gauge(name: String, kind: MetricKind, doc: String): MetricKey =
    MetricKey(name, MetricType.Gauge, kind, doc)

  private def highest(name: String, kind: MetricKind, doc: String): MetricKey =
    MetricKey(name, MetricType.Gauge, kind, doc, MetricOver.Highest)
}
