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
  val Snapshots: MetricKey =
    MetricKey("bucketedSnapshots", Sum, "snapshots finished since the last report")
  val SnapshotTime: MetricKey =
    MetricKey("bucketedSnapshotTimeMs", Timing, "time those snapshots took, beside the batches")
  val SnapshotFailures: MetricKey =
    MetricKey("bucketedSnapshotFailures", Sum, "snapshots that failed since the last report")
  val SnapshotLag: MetricKey =
    MetricKey("bucketedSnapshotLag", Sum, "versions that the newest snapshot is behind this one")
  val Runs: MetricKey =
    MetricKey("bucketedRuns", Sum, "runs that the newest snapshot consists of")
  val RunBytes: MetricKey =
    MetricKey("bucketedRunBytes", Size, "bytes of the runs written since the last report")
  val CompactionBytes: MetricKey =
    MetricKey("bucketedCompactionBytes", Size, "those of them that were rewritten from older runs")
  val LazyLoads: MetricKey =
    MetricKey("bucketedLazyLoads", Sum, "buckets that had to be loaded when a batch touched them")
  val WarmUpFailures: MetricKey =
    MetricKey(
      "bucketedWarmUpFailures",
      Sum,
      "failures to load the rest of the state after a restart, beside the batches, since the last report"
    )
  val MemoryLimit: MetricKey =
    MetricKey(
      "bucketedMemoryLimitBytes",
      Size,
      "what memory.maxBytes comes to, divided by the number of stores that share it"
    )
  val Evictions: MetricKey =
    MetricKey("bucketedEvictions", Sum, "buckets that left memory, since the last report")
  val EvictedBytes: MetricKey =
    MetricKey("bucketedEvictedBytes", Size, "heap that this gave back, an estimate")
  val ColdBuckets: MetricKey =
    MetricKey("bucketedColdBuckets", Sum, "buckets of which a part is in files alone")
  val ColdBytes: MetricKey =
    MetricKey("bucketedColdBytes", Size, "bytes of the newest snapshot, which has what left memory")
  val ColdReads: MetricKey =
    MetricKey("bucketedColdReads", Sum, "keys that this batch looked up in files")
  val ColdReadsByFilter: MetricKey =
    MetricKey(
      "bucketedColdReadsByFilter",
      Sum,
      "of them, those that filters and indexes in memory answered alone"
    )
  val ColdReadsFromCache: MetricKey =
    MetricKey(
      "bucketedColdReadsFromCache",
      Sum,
      "of them, those that needed blocks, which were all in the cache"
    )
  val ColdReadsFromFiles: MetricKey =
    MetricKey("bucketedColdReadsFromFiles", Sum, "of them, those that had to read a file")
  val MemoryFlushes: MetricKey =
    MetricKey(
      "bucketedMemoryFlushes",
      Sum,
      "snapshots made early because changes alone were too much for memory.maxBytes"
    )
  val ExpiredKeys: MetricKey =
    MetricKey("bucketedExpiredKeys", Sum, "keys that expired when this batch began")
  val LateWrites: MetricKey =
    MetricKey(
      "bucketedLateWrites",
      Sum,
      "writes of this batch that were dropped because their time had expired already"
    )
  val TimeBuckets: MetricKey =
    MetricKey("bucketedTimeBuckets", Sum, "time buckets that hold keys")
  val EstimatedCounts: MetricKey =
    MetricKey(
      "bucketedEstimatedCounts",
      Sum,
      "stores whose number of keys is an estimate, because exactKeyCount is or was false"
    )
  val DbLag: MetricKey =
    MetricKey("bucketedDbLag", Sum, "versions that local databases are behind this one")
  val DbCacheHits: MetricKey =
    MetricKey("bucketedDbCacheHits", Sum, "blocks of databases that were read from the block cache")
  val DbCacheMisses: MetricKey =
    MetricKey("bucketedDbCacheMisses", Sum, "blocks of databases that were read from files")
  val DbFlushBytes: MetricKey =
    MetricKey("bucketedDbFlushBytes", Size, "bytes that databases wrote to files out of memory")
  val DbCompactionBytes: MetricKey =
    MetricKey("bucketedDbCompactionBytes", Size, "bytes that compactions of databases wrote")
  val DbCompactionTime: MetricKey =
    MetricKey(
      "bucketedDbCompactionTimeMs",
      Timing,
      "time those compactions took, beside the batches"
    )
  val DbStallTime: MetricKey =
    MetricKey(
      "bucketedDbStallTimeMs",
      Timing,
      "time that writes to databases waited for flushes or compactions, beside the batches"
    )
  val DbFileBytes: MetricKey =
    MetricKey("bucketedDbFileBytes", Size, "bytes of the files of local databases")
  val DbFiles: MetricKey =
    MetricKey("bucketedDbFiles", Sum, "files of local databases, over all levels")
  val DbUnflushedBytes: MetricKey =
    MetricKey("bucketedDbUnflushedBytes", Size, "bytes in write buffers of local databases")
  val DbMemory: MetricKey =
    MetricKey(
      "bucketedDbMemoryBytes",
      Size,
      "native memory of local databases: block cache, write buffers, indexes and filters"
    )
  val ObjectPuts: MetricKey =
    MetricKey("bucketedObjectPuts", Sum, "files written to an object store since the last report")
  val ObjectGets: MetricKey =
    MetricKey(
      "bucketedObjectGets",
      Sum,
      "reads of files in an object store since the last report, each a request"
    )
  val ObjectHeads: MetricKey =
    MetricKey(
      "bucketedObjectHeads",
      Sum,
      "times that an object store was asked for a file's length since the last report"
    )
  val ObjectLists: MetricKey =
    MetricKey(
      "bucketedObjectLists",
      Sum,
      "folders listed in an object store since the last report"
    )
  val ObjectDeletes: MetricKey =
    MetricKey(
      "bucketedObjectDeletes",
      Sum,
      "requests that deleted files from an object store since the last report, many files each"
    )
  val Repairs: MetricKey =
    MetricKey(
      "bucketedRepairs",
      Sum,
      "damaged snapshots that were passed over since the last report"
    )
  val InternalKeys: MetricKey =
    MetricKey(
      "bucketedInternalKeys",
      Sum,
      "keys that operators keep for themselves, which are not counted as rows of the state"
    )
  val ExternalFamilies: MetricKey =
    MetricKey(
      "bucketedExternalColumnFamilies",
      Sum,
      "column families of the query's own state, such as state variables, and the default one, over all partitions"
    )
  val InternalFamilies: MetricKey =
    MetricKey(
      "bucketedInternalColumnFamilies",
      Sum,
      "column families that operators keep for themselves, such as timers and indexes of times to live, over all partitions"
    )

  /** Under the name that Spark's own providers use. */
  val ForcedSnapshots: MetricKey =
    MetricKey("forceSnapshotCount", Sum, "snapshots that Spark asked for in commits")

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
    EstimatedCounts,
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
}
