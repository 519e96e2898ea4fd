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

  /** A folder's path, or a word that stands for one. */
  case object Folder extends ConfigType {
    override def name: String = "folder"
    override def describe: String = "a path that is not empty"
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
 * One setting.
 *
 * @param name    the part behind the prefix
 * @param default as a user would write it
 * @param doc     short sentences: what it does, its unit, an example before a rule
 * @param perQuery whether it can be given for one query or operator alone, see [[QueryScope]]
 * @param prefix  of all settings of its registry
 */
final case class ConfigKey(
    name: String,
    kind: ConfigType,
    default: String,
    doc: String,
    perQuery: Boolean = false,
    prefix: String = ConfigKey.Prefix
) {
  def key: String = prefix + name

  /** The keys that can be set, as users are shown them: this one, or the forms of those below it. */
  def shown: Seq[String] = kind match {
    case ConfigType.Named(groups) => groups.map(g => s"$key.$g.<name>")
    case _                        => Seq(key)
  }
}

/**
 * The registry of the provider's settings: the one place that defines them. Python's `Conf`, the documentation and
 * `conf/` are generated from it or checked against it.
 */
object ConfigKey {
  import io.bucketstate.config.{Engine => Engines}

  /** Spark ships only keys below `spark.sql.streaming.stateStore.` to the executors. */
  val Prefix = "spark.sql.streaming.stateStore.bucketed."

  /** What a store has of buckets at most, of the 65536 that a run's keys have room for. */
  final val MostBuckets = 32768

  val Engine: ConfigKey = ConfigKey(
    "engine",
    ConfigType.OneOf(Engines.all.map(_.name)),
    Engines.Heap.name,
    "Where the state is while a query runs. 'heap' keeps it in the JVM's heap, as compact bytes. 'rocksdb' keeps it outside " +
      "the heap, in a local RocksDB database for each store. Settings below rocksdb. count for 'rocksdb' alone; they may stay " +
      "when the engine changes."
  )

  val NumBuckets: ConfigKey = ConfigKey(
    "numBuckets",
    ConfigType.IntRange(1, MostBuckets),
    "64",
    "How many groups the keys of a store are divided into. The number is fixed for the life of a checkpoint: a session that " +
      "does not set it takes the checkpoint's, and one that sets another is an error."
  )

  val Partitions: ConfigKey = ConfigKey(
    "partitions",
    ConfigType.OneOf(Seq("checkpoint", "session")),
    "checkpoint",
    "Which number of partitions counts when a query starts on a checkpoint. 'checkpoint' is what Spark does: the session's " +
      "spark.sql.shuffle.partitions is for new queries alone. With 'session' it counts for all: a checkpoint that has " +
      "another number is rewritten in place before the query starts, as `bucketstate move rewrite --in-place` does."
  )

  val LockAcquireTimeout: ConfigKey = ConfigKey(
    "lockAcquireTimeout",
    ConfigType.Millis(1, 24L * 3600 * 1000),
    "60000",
    "How long a task waits for another task to let go of the store before it fails, in milliseconds. The other one is " +
      "mostly a killed attempt that still runs."
  )

  val SnapshotMode: ConfigKey = ConfigKey(
    "snapshot.mode",
    ConfigType.OneOf(Seq("async", "sync")),
    "async",
    "'async' makes snapshots in the background while batches go on. 'sync' makes them inside the commit, for tests and " +
      "comparisons."
  )

  val SnapshotMaxVersions: ConfigKey = ConfigKey(
    "snapshot.maxVersions",
    ConfigType.IntRange(0, 1000000),
    "0",
    "A snapshot is made after this many versions. 0 takes the value of Spark's " +
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
    "How many runs the newest snapshot may have before some are merged. While they are merged there may be twice as many. " +
      "With more runs less is written; with fewer a restart reads less and the checkpoint is smaller."
  )

  val CompactionMaxBytes: ConfigKey = ConfigKey(
    "compaction.maxBytes",
    ConfigType.Bytes(1, Long.MaxValue),
    "1g",
    "How many bytes of a store are merged at a time, about. A larger state is merged in spans of buckets, one after the " +
      "other. The more numBuckets there are, the smaller a span can be."
  )

  val RunMaxFileBytes: ConfigKey = ConfigKey(
    "run.maxFileBytes",
    ConfigType.Bytes(1, Long.MaxValue),
    "16m",
    "A run is split into files of about this size, where a bucket ends. A restart fetches and verifies whole files before " +
      "it reads a bucket from them."
  )

  val RunBlockBytes: ConfigKey = ConfigKey(
    "run.blockBytes",
    ConfigType.Bytes(256, 1L << 20),
    "4k",
    "The size of a block in a run's file, about. To look up a key that is not in memory, one block is read. Larger blocks " +
      "compress better, and the index that is kept in memory is smaller."
  )

  val RunCacheShare: ConfigKey = ConfigKey(
    "run.cacheShare",
    ConfigType.IntRange(0, 90),
    "40",
    "How much of memory.maxBytes may be taken to read runs' files, in percent. That is for their indexes and filters, about " +
      "2 bytes for each key of the state, and for the blocks that were read last, a quarter of the share at most. Where indexes " +
      "and filters do not fit, the parts that were used last stay: keys that are not in memory are slower then. With 0 each " +
      "look-up reads what it needs."
  )

  val RunBloomBits: ConfigKey = ConfigKey(
    "run.bloomBits",
    ConfigType.IntRange(0, 30),
    "10",
    "Bits for each key in the Bloom filters of runs' files. A filter spares reading a file that does not have the key. With 10 " +
      "bits one such key in a hundred is looked for in vain, with 15 one in a thousand. 0 makes no filters."
  )

  val RunMaxOpenFiles: ConfigKey = ConfigKey(
    "run.maxOpenFiles",
    ConfigType.IntRange(1, 1000000),
    "2000",
    "How many files of runs one executor keeps open, for all queries. Above it the files that were not read for longest " +
      "are closed, and opened again when they are read."
  )

  val RestoreMode: ConfigKey = ConfigKey(
    "restore.mode",
    ConfigType.OneOf(Seq("lazy", "eager")),
    "lazy",
    "When a restart loads the state. 'lazy' loads a bucket when it is first touched, and the others meanwhile in the " +
      "background. 'eager' loads all of them before the first batch."
  )

  val MemoryMaxBytes: ConfigKey = ConfigKey(
    "memory.maxBytes",
    ConfigType.Memory,
    "auto",
    "How much memory the state of all queries in one executor may take: bytes, such as 2g, a share of the heap, such as " +
      "40%, or 'auto', three quarters of what Spark leaves to user code. With engine=heap it is heap, with " +
      "engine=rocksdb mostly memory outside the heap. Above it, what was not used for longest leaves memory. It is read " +
      "when it is asked for, from the files of snapshots or from the local database."
  )

  val MemoryPreventEvictionFor: ConfigKey = ConfigKey(
    "memory.preventEvictionFor",
    ConfigType.Millis(0, 24L * 3600 * 1000),
    "0",
    "How long a bucket stays in memory after its last use, in milliseconds, even above memory.maxBytes."
  )

  val ExactKeyCount: ConfigKey = ConfigKey(
    "exactKeyCount",
    ConfigType.OneOf(Seq("true", "false")),
    "true",
    "Whether the number of keys is always exact. 'true' looks up a key that is not in memory when it is written, to know " +
      "whether it is new. 'false' leaves that out, for operators that write without reading to a state larger than memory. " +
      "numRowsTotal may then be of an older version, as bucketedUncounted says.",
    perQuery = true
  )

  val TimeBucketExpireAfter: ConfigKey = ConfigKey(
    "timeBucket.expireAfter",
    ConfigType.Duration(1L, "never"),
    "never",
    "State that is older than this expires: a time such as 7d, or 'never'. The age is counted from the newest time in the " +
      "partition. Not for joins, state with timeouts, or state that a watermark evicts.",
    perQuery = true
  )

  val TimeBucketColumn: ConfigKey = ConfigKey(
    "timeBucket.column",
    ConfigType.Text,
    "none",
    "The column of key or value with the event time by which state ages, such as 'lastSeen' or 'window.end'. 'none' lets " +
      "it age by the time of the batch that last wrote it. A column helps where nothing expires, too: windows and other state " +
      "of one time leave the files together once their operator has removed them.",
    perQuery = true
  )

  val TimeBucketSpan: ConfigKey = ConfigKey(
    "timeBucket.span",
    ConfigType.Duration(1L, "auto"),
    "auto",
    "The length of a time bucket: state in one expires together. With 1h, what is expired is gone an hour after " +
      "timeBucket.expireAfter at the latest, or two hours if that is no multiple of the span. timeBucket.expireAfter is at most " +
      "4000 of them. 'auto' is a sixteenth to a 64th of it, so that it divides it where it can, and at least a second; a minute where nothing expires.",
    perQuery = true
  )

  val LocalDir: ConfigKey = ConfigKey(
    "localDir",
    ConfigType.Folder,
    "spark",
    "Where working files go. 'spark' stands for Spark's local folders, which are cleared when the store is closed. Or give " +
      "a folder on each machine, such as /data/state: what a restart there can begin with stays in it. That is copies of a " +
      "remote checkpoint's runs, and with engine=rocksdb the database of the last snapshot."
  )

  val ObjectStoreSchemes: ConfigKey = ConfigKey(
    "objectStore.schemes",
    ConfigType.Text,
    "s3a,s3,gs,abfs,abfss",
    "Schemes of checkpoints in object stores, such as s3a, where a file appears whole when it is closed. A file is written " +
      "there with one request and never renamed, if the client can abort a write. If it cannot, or if " +
      "spark.sql.streaming.checkpointFileManagerClass is set, Spark's file manager is used. 'none' for no scheme."
  )

  val RocksDbPreset: ConfigKey = ConfigKey(
    "rocksdb.preset",
    ConfigType.OneOf(RocksDbConfig.Presets),
    "default",
    "The native options that the databases of engine=rocksdb start from. 'default' is for many small stores. 'flash-ssd' " +
      "and 'spinning-disk' are for such disks; 'spinning-disk-high-memory' has larger buffers and blocks. 'small-memory' has " +
      "small buffers, and indexes that may leave memory."
  )

  val RocksDbOptions: ConfigKey = ConfigKey(
    "rocksdb.options",
    ConfigType.Named(Seq(RocksDbConfig.Db, RocksDbConfig.Cf)),
    "",
    "Native options of the databases of engine=rocksdb, by RocksDB's name: db.max_background_jobs, say, for a database; " +
      "cf.write_buffer_size or cf.block_size for its column families and their tables. Values are as RocksDB writes them, and " +
      "take the place of the preset's. Options that the engine itself depends on are refused."
  )

  val RocksDbOptionsFactory: ConfigKey = ConfigKey(
    "rocksdb.optionsFactory",
    ConfigType.Text,
    "none",
    "A class that may change the native options of engine=rocksdb in code; it gets them last. It is an " +
      "io.bucketstate.rocksdb.RocksDbOptionsFactory on the class path of the executors. 'none' for no such class."
  )

  val RocksDbHeapBytes: ConfigKey = ConfigKey(
    "rocksdb.heapBytes",
    ConfigType.Bytes(1L << 20, Long.MaxValue),
    "24m",
    "How much heap the keys that were used last may take with engine=rocksdb, for all queries in one executor. " +
      "memory.maxBytes counts instead if it is less. What a batch changes stays in memory until it is written to the " +
      "database, also above this."
  )

  val RocksDbMemoryShare: ConfigKey = ConfigKey(
    "rocksdb.memoryShare",
    ConfigType.IntRange(1, 90),
    "78",
    "How much of memory.maxBytes all databases of an executor may take outside the heap, in percent. Four fifths of it are " +
      "for single records. The rest is for blocks, indexes and filters of their files, and for what is not written to files " +
      "yet. The first query of an executor decides."
  )

  val RocksDbMaxBytesPerSecond: ConfigKey = ConfigKey(
    "rocksdb.maxBytesPerSecond",
    ConfigType.Bytes(1L << 20, Long.MaxValue),
    "256m",
    "How many bytes all databases of an executor write to local disks in a second, at most. The first query of an executor " +
      "decides."
  )

  val all: Seq[ConfigKey] = Seq(
    Engine,
    NumBuckets,
    Partitions,
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

  /** What limits that which all stores of an executor share. */
  private[bucketstate] val ofExecutor: Seq[ConfigKey] = Seq(
    MemoryMaxBytes,
    RunCacheShare,
    RunMaxOpenFiles,
    RocksDbHeapBytes,
    RocksDbMemoryShare,
    RocksDbMaxBytesPerSecond
  )
}
