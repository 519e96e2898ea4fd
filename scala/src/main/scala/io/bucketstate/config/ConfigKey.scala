package io.bucketstate.config

/** What values a setting takes; `describe` completes the sentence "must be ...". */
sealed trait ConfigType {
  def name: String
  def describe: String
}

object ConfigType {

  /** A whole number between two bounds, both included. */
  final case class IntRange(min: Int, max: Int) extends ConfigType {
    override def name: String = "int"
    override def describe: String = s"a whole number from $min to $max"
  }

  /** A time in milliseconds as a whole number. */
  final case class Millis(min: Long, max: Long) extends ConfigType {
    override def name: String = "millis"
    override def describe: String = s"a whole number of milliseconds from $min to $max"
  }

  /** A number of bytes, as Spark writes them: `67108864`, `64m`, `1g`. */
  final case class Bytes(min: Long, max: Long) extends ConfigType {
    override def name: String = "bytes"
    override def describe: String = s"a number of bytes from $min to $max, such as 65536, 64m or 1g"
  }

  /** A share of the JVM's heap, a number of bytes, or `auto`. */
  case object Memory extends ConfigType {
    override def name: String = "memory"
    override def describe: String =
      "'auto', a share of the heap from 1% to 90%, such as 40%, or a number of bytes of at least 1m, such as 512m"
  }

  /**
   * A time with its unit, or a word.
   *
   * @param min seconds
   */
  final case class Duration(min: Long, word: String) extends ConfigType {
    override def name: String = "duration"
    override def describe: String =
      s"a time such as 90s, 30min, 12h or 7d of at least ${min}s, or '$word'"
  }

  /** Any text. */
  case object Text extends ConfigType {
    override def name: String = "string"
    override def describe: String = "a text that is not empty"
  }

  /** One of a few words. */
  final case class OneOf(values: Seq[String]) extends ConfigType {
    override def name: String = "enum"
    override def describe: String = values match {
      case Seq(only) => s"'$only'"
      case _         => values.map(v => s"'$v'").mkString("one of ", ", ", "")
    }
  }

  /**
   * Not one value but any number of texts by name, each under a key of its own, `<key>.<group>.<name>`; whoever
   * uses them knows which names there are. The key itself is none, and without any the setting is empty.
   */
  final case class Named(groups: Seq[String]) extends ConfigType {
    override def name: String = "named"
    override def describe: String =
      s"a text that is not empty, under a key that ends in ${groups.map(g => s".$g.<name>").mkString(" or ")}"
  }
}

/**
 * One setting of the provider.
 *
 * @param name    the part behind [[ConfigKey.Prefix]]
 * @param default as a user would write it
 * @param doc     one or two sentences: what it does, its unit, when to change it
 * @param perQuery whether it can be given for one query or operator alone, see [[QueryScope]]
 */
final case class ConfigKey(
    name: String,
    kind: ConfigType,
    default: String,
    doc: String,
    perQuery: Boolean = false
) {
  def key: String = ConfigKey.Prefix + name

  /** The keys that can be set, as users are shown them: this one, or the forms of those below it. */
  def shown: Seq[String] = kind match {
    case ConfigType.Named(groups) => groups.map(g => s"$key.$g.<name>")
    case _                        => Seq(key)
  }
}

/**
 * The registry of settings: the one place that defines them. Python's `Conf`, the documentation and
 * `conf/` are generated from it or checked against it.
 */
object ConfigKey {
  import io.bucketstate.config.{Engine => Engines}

  /** Spark ships only keys below `spark.sql.streaming.stateStore.` to the executors. */
  val Prefix = "spark.sql.streaming.stateStore.bucketed."

  val Engine: ConfigKey = ConfigKey(
    "engine",
    ConfigType.OneOf(Engines.all.map(_.name)),
    Engines.Heap.name,
    "What holds the state while a query runs: 'heap' keeps it as compact bytes in the JVM's heap, 'rocksdb' in a local " +
      "RocksDB database for each store. Settings below rocksdb. are for the latter alone, and may stay when this one changes."
  )

  val NumBuckets: ConfigKey = ConfigKey(
    "numBuckets",
    ConfigType.IntRange(1, 32768),
    "64",
    "Key groups per store. Fixed for the life of a checkpoint: a different value on restart is an error."
  )

  val LockAcquireTimeout: ConfigKey = ConfigKey(
    "lockAcquireTimeout",
    ConfigType.Millis(1, 24L * 3600 * 1000),
    "60000",
    "How long a task waits, in milliseconds, for another task (a killed attempt that still runs) " +
      "to let go of the store before it fails."
  )

  val SnapshotMode: ConfigKey = ConfigKey(
    "snapshot.mode",
    ConfigType.OneOf(Seq("async", "sync")),
    "async",
    "'async' makes snapshots in the background while batches go on; 'sync' makes them inside commit, " +
      "for tests and comparisons."
  )

  val SnapshotMaxVersions: ConfigKey = ConfigKey(
    "snapshot.maxVersions",
    ConfigType.IntRange(0, 1000000),
    "0",
    "A snapshot is made after this many versions; 0 takes Spark's " +
      "spark.sql.streaming.stateStore.minDeltasForSnapshot."
  )

  val SnapshotMaxBytes: ConfigKey = ConfigKey(
    "snapshot.maxBytes",
    ConfigType.Bytes(1, Long.MaxValue),
    "64m",
    "A snapshot is made after this many bytes of changelog, if that comes before snapshot.maxVersions."
  )

  val CompactionMaxRuns: ConfigKey = ConfigKey(
    "compaction.maxRuns",
    ConfigType.IntRange(1, 1000),
    "12",
    "Runs that the newest snapshot may consist of before some are merged; while they are, up to twice as " +
      "many. More write less, fewer make a restart and the checkpoint smaller."
  )

  val CompactionMaxBytes: ConfigKey = ConfigKey(
    "compaction.maxBytes",
    ConfigType.Bytes(1, Long.MaxValue),
    "1g",
    "About the most bytes of a store that are merged at a time: a larger state is merged by spans of buckets, one after " +
      "the other, each of which is the smaller, the more numBuckets there are."
  )

  val RunMaxFileBytes: ConfigKey = ConfigKey(
    "run.maxFileBytes",
    ConfigType.Bytes(1, Long.MaxValue),
    "16m",
    "A run is split into files of about this size, at the ends of buckets. A restart fetches and verifies " +
      "whole files before it reads a bucket from them."
  )

  val RunBlockBytes: ConfigKey = ConfigKey(
    "run.blockBytes",
    ConfigType.Bytes(256, 1L << 20),
    "4k",
    "About the bytes of records that a run's file is read by: a key that is not in memory costs reading one such " +
      "block. Larger ones compress better and make the index that is kept in memory smaller."
  )

  val RunCacheShare: ConfigKey = ConfigKey(
    "run.cacheShare",
    ConfigType.IntRange(0, 90),
    "40",
    "How much of memory.maxBytes, in percent, the indexes and filters of runs' files may take, about 2 bytes for each " +
      "key of the state, together with the blocks last read from them, which take a quarter of that at most. " +
      "Indexes and filters that do not fit are read by pages, which makes keys slower that are not in memory; with 0 all are."
  )

  val RunBloomBits: ConfigKey = ConfigKey(
    "run.bloomBits",
    ConfigType.IntRange(0, 30),
    "10",
    "Bits for each key of the Bloom filters in runs' files, by which a file need not be read for a key that it has " +
      "not; 0 for no filters. With 10, one such key in a hundred is looked for in vain; with 15, one in a thousand."
  )

  val RunMaxOpenFiles: ConfigKey = ConfigKey(
    "run.maxOpenFiles",
    ConfigType.IntRange(1, 1000000),
    "2000",
    "Files of runs that one executor keeps open, for all queries. Above it those that were not read for longest are " +
      "closed, and opened again when they are read."
  )

  val RestoreMode: ConfigKey = ConfigKey(
    "restore.mode",
    ConfigType.OneOf(Seq("lazy", "eager")),
    "lazy",
    "'lazy' loads buckets when they are first touched, the others meanwhile in the background; " +
      "'eager' loads all of them before the first batch."
  )

  val MemoryMaxBytes: ConfigKey = ConfigKey(
    "memory.maxBytes",
    ConfigType.Memory,
    "auto",
    "Heap that the state of all queries in one executor may take: bytes, a share of the heap such as 40%, or " +
      "'auto', three quarters of what Spark leaves to user code. Above it, what was not used for longest stays " +
      "in the files of snapshots alone, and is read from there when it is asked for."
  )

  val MemoryPreventEvictionFor: ConfigKey = ConfigKey(
    "memory.preventEvictionFor",
    ConfigType.Millis(0, 24L * 3600 * 1000),
    "0",
    "For so long after its last use, in milliseconds, a bucket stays in memory, even above memory.maxBytes."
  )

  val ExactKeyCount: ConfigKey = ConfigKey(
    "exactKeyCount",
    ConfigType.OneOf(Seq("true", "false")),
    "true",
    "Whether a key that is not in memory is looked up when it is written, for the exact number of keys. 'false' spares " +
      "blind writes to state larger than memory that; numRowsTotal may be of an older version then, as bucketedUncounted says.",
    perQuery = true
  )

  val TimeBucketExpireAfter: ConfigKey = ConfigKey(
    "timeBucket.expireAfter",
    ConfigType.Duration(1L, "never"),
    "never",
    "State expires when it is older than this, counted from the newest time in its partition: a time such as 7d, " +
      "or 'never'. Not for joins, state with timeouts, or state that a watermark evicts.",
    perQuery = true
  )

  val TimeBucketColumn: ConfigKey = ConfigKey(
    "timeBucket.column",
    ConfigType.Text,
    "none",
    "The column of key or value that has the event time by which state ages, such as 'lastSeen' or " +
      "'window.end'; 'none' lets it age by the time of the batch that last wrote it. Where nothing expires, windows " +
      "and other state of one time leave the files together once their operator has removed them.",
    perQuery = true
  )

  val TimeBucketSpan: ConfigKey = ConfigKey(
    "timeBucket.span",
    ConfigType.Duration(1L, "auto"),
    "auto",
    "State expires together by spans of this length: what is expired is gone at the latest so long after " +
      "timeBucket.expireAfter, which is at most 4000 of them. 'auto' is a sixteenth of that, or somewhat less, and at " +
      "least a second; a minute where nothing expires.",
    perQuery = true
  )

  val LocalDir: ConfigKey = ConfigKey(
    "localDir",
    ConfigType.Text,
    "spark",
    "Where working files go: 'spark' for Spark's local folders, cleared when the store is closed; or a " +
      "folder on each machine, where what a restart there can begin with stays: copies of a remote checkpoint's runs, and " +
      "with engine=rocksdb the database of the last snapshot."
  )

  val ObjectStoreSchemes: ConfigKey = ConfigKey(
    "objectStore.schemes",
    ConfigType.Text,
    "s3a,s3,gs,abfs,abfss",
    "Schemes of checkpoints in object stores, where a file appears whole when it is closed: it is written with one request " +
      "and never renamed, if the client can abort a write; else, and if spark.sql.streaming.checkpointFileManagerClass is " +
      "set, Spark's file manager is used. 'none' for none."
  )

  val RocksDbPreset: ConfigKey = ConfigKey(
    "rocksdb.preset",
    ConfigType.OneOf(RocksDbConfig.Presets),
    "default",
    "The native options that the databases of engine=rocksdb start from, by what they stand on: 'default', hard disks " +
      "('spinning-disk', or 'spinning-disk-high-memory' with larger buffers and blocks), 'flash-ssd', or 'small-memory' " +
      "with small buffers and indexes that may leave memory."
  )

  val RocksDbOptions: ConfigKey = ConfigKey(
    "rocksdb.options",
    ConfigType.Named(Seq(RocksDbConfig.Db, RocksDbConfig.Cf)),
    "",
    "Native options of the databases of engine=rocksdb, in the place of the preset's: by RocksDB's name, such as " +
      "db.max_background_jobs for a database, or cf.write_buffer_size and cf.block_size for its column families and their " +
      "tables, with values as RocksDB writes them. Those that the engine stands on are refused."
  )

  val RocksDbOptionsFactory: ConfigKey = ConfigKey(
    "rocksdb.optionsFactory",
    ConfigType.Text,
    "none",
    "A class that gets the native options of engine=rocksdb last and may change them in code: an " +
      "io.bucketstate.rocksdb.RocksDbOptionsFactory on the class path of the executors; 'none' for no such class."
  )

  val RocksDbHeapBytes: ConfigKey = ConfigKey(
    "rocksdb.heapBytes",
    ConfigType.Bytes(1L << 20, Long.MaxValue),
    "24m",
    "Heap that keys which were used last may take with engine=rocksdb, of all queries in one executor, if " +
      "memory.maxBytes is not less. What a batch changes stays in memory until it is written down, also above that."
  )

  val RocksDbMemoryShare: ConfigKey = ConfigKey(
    "rocksdb.memoryShare",
    ConfigType.IntRange(1, 90),
    "78",
    "How much of memory.maxBytes, in percent, all databases of an executor may take outside the heap: four fifths of it for " +
      "single records, the rest for blocks, indexes and filters of their files, and for what they have not written to files " +
      "yet. The first query of an executor decides."
  )

  val RocksDbMaxBytesPerSecond: ConfigKey = ConfigKey(
    "rocksdb.maxBytesPerSecond",
    ConfigType.Bytes(1L << 20, Long.MaxValue),
    "256m",
    "What all databases of an executor write to local disks in a second at most. The first query of an executor decides."
  )

  val all: Seq[ConfigKey] = Seq(
    Engine,
    NumBuckets,
    LockAcquireTimeout,
    SnapshotMode,
    SnapshotMaxVersions,
    SnapshotMaxBytes,
    CompactionMaxRuns,
    CompactionMaxBytes,
    RunMaxFileBytes,
    RunBlockBytes,
    RunCacheShare,
    RunBloomBits,
    RunMaxOpenFiles,
    RestoreMode,
    MemoryMaxBytes,
    MemoryPreventEvictionFor,
    ExactKeyCount,
    TimeBucketExpireAfter,
    TimeBucketColumn,
    TimeBucketSpan,
    LocalDir,
    ObjectStoreSchemes,
    RocksDbPreset,
    RocksDbOptions,
    RocksDbOptionsFactory,
    RocksDbHeapBytes,
    RocksDbMemoryShare,
    RocksDbMaxBytesPerSecond
  )
}
