package io.bucketstate.config

import java.util.Locale

import io.bucketstate.error.InvalidException

/**
 * All settings of one store, parsed and checked once. Immutable.
 *
 * @param engine               what holds the state
 * @param numBuckets           buckets per store, None where nobody has set it: then the checkpoint's, or the default
 * @param lockAcquireTimeoutMs how long a task waits for a store that another task holds
 * @param snapshotsInCommit    whether snapshots are made inside commit instead of beside the batches
 * @param snapshotMaxVersions  versions after which a snapshot is made
 * @param snapshotMaxBytes     bytes of changelog after which a snapshot is made
 * @param maxRuns              runs of a snapshot before some are merged
 * @param maxMergeBytes        about the most bytes that are merged at a time
 * @param maxRunFileBytes      about the largest file of a run
 * @param runBlockBytes        about the bytes of a block of a run's file, raw
 * @param cacheShare           of `maxMemory`, in percent, what is kept to be quick in runs' files
 * @param bloomBits            bits of filter for each key of a run's file, 0 for none
 * @param maxOpenFiles         files of runs that an executor keeps open
 * @param restoreEagerly       whether all buckets are loaded before the first batch
 * @param partitionsOfSession  whether a checkpoint gets the session's number of partitions before its query starts
 * @param maxMemory            heap that the state of all stores of an executor may take
 * @param preventEvictionMs    how long after its last use a bucket stays in memory
 * @param exactKeyCount        whether keys are looked up for their exact number
 * @param timeBuckets          when state expires, None for never
 * @param localDir             where working files go, None for Spark's local folders
 * @param rocksDb              of the engine of that name; there whichever engine it is
 * @param rocksDbMemory        what its stores may take
 * @param objectStores         schemes under which a file appears whole when it is closed
 * @param spark                Spark's own settings, honoured as they are
 */
final case class StoreConfig(
    engine: Engine,
    numBuckets: Option[Int],
    lockAcquireTimeoutMs: Long,
    snapshotsInCommit: Boolean,
    snapshotMaxVersions: Int,
    snapshotMaxBytes: Long,
    maxRuns: Int,
    maxMergeBytes: Long,
    maxRunFileBytes: Long,
    runBlockBytes: Int,
    cacheShare: Int,
    bloomBits: Int,
    maxOpenFiles: Int,
    restoreEagerly: Boolean,
    partitionsOfSession: Boolean,
    maxMemory: MemoryLimit,
    preventEvictionMs: Long,
    exactKeyCount: Boolean,
    timeBuckets: Option[TimeBucketConfig],
    localDir: Option[String],
    rocksDb: RocksDbConfig,
    rocksDbMemory: RocksDbMemory,
    objectStores: Set[String],
    spark: SparkHonoured
)

/**
 * How state ages.
 *
 * @param column      that has its event time, None for the time of the batch that last wrote it
 * @param span        seconds that expire together; not more than `expireAfter`
 * @param expireAfter seconds; None where nothing expires by itself, and what lies together by its time leaves the files
 *                    together when its operator has removed it
 */
final case class TimeBucketConfig(column: Option[String], span: Long, expireAfter: Option[Long])

/** How much heap the state may take. */
sealed trait MemoryLimit
object MemoryLimit {

  /** The heap that is left beside what Spark needs. */
  case object Auto extends MemoryLimit

  /** @param percent of the heap */
  final case class Share(percent: Int) extends MemoryLimit

  final case class Bytes(bytes: Long) extends MemoryLimit
}

/**
 * Spark's settings that this provider follows.
 *
 * @param minVersionsToRetain  `minBatchesToRetain`: versions a restart may ask for
 * @param minVersionsToDelete  how many stale versions make a clean-up worth listing the folder, from
 *                             `ratioExtraSpaceAllowedInCheckpoint`; 0 or less for every time
 * @param maxVersionsToDelete  `maxVersionsToDeletePerMaintenance`: none or less for no limit
 * @param versionsInMemory     `maxBatchesToRetainInMemory`
 * @param minDeltasForSnapshot `minDeltasForSnapshot`
 * @param compressionCodec     `compression.codec`: lz4, zstd, snappy, lzf
 * @param repair               `autoSnapshotRepair.enabled`
 * @param repairAfterFailures  `autoSnapshotRepair.numFailuresBeforeActivating`
 * @param repairMaxChangelogs  `autoSnapshotRepair.maxChangeFileReplay`
 * @param checkpointIds        whether `checkpointFormatVersion` gives attempts ids
 * @param unloadOnCommit       `unloadOnCommit`: whether a store lives for one batch
 */
final case class SparkHonoured(
    minVersionsToRetain: Int,
    minVersionsToDelete: Long,
    maxVersionsToDelete: Int,
    versionsInMemory: Int,
    minDeltasForSnapshot: Int,
    compressionCodec: String,
    repair: Boolean,
    repairAfterFailures: Int,
    repairMaxChangelogs: Int,
    checkpointIds: Boolean,
    unloadOnCommit: Boolean
)

object StoreConfig {

  /**
   * Parses the `bucketed.` settings out of all settings below `spark.sql.streaming.stateStore.`.
   *
   * Throws `InvalidException` that names the key, the value and what is allowed; for an unknown key,
   * the nearest known one.
   *
   * @param scope whose settings are wanted
   */
  def parse(
      all: Map[String, String],
      spark: SparkHonoured,
      scope: QueryScope = QueryScope.Unknown
  ): StoreConfig = {
    rejectUnknown(all)
    val settings = scope.narrow(all)
    val engine = word(settings, ConfigKey.Engine)
    val maxVersions = whole(settings, ConfigKey.SnapshotMaxVersions).toInt
    StoreConfig(
      engine = Engine.all.find(_.name == engine).get,
      numBuckets = settings
        .get(ConfigKey.NumBuckets.key)
        .map(_ => whole(settings, ConfigKey.NumBuckets).toInt),
      lockAcquireTimeoutMs = whole(settings, ConfigKey.LockAcquireTimeout),
      snapshotsInCommit = word(settings, ConfigKey.SnapshotMode) == "sync",
      snapshotMaxVersions =
        if (maxVersions > 0) maxVersions else math.max(1, spark.minDeltasForSnapshot),
      snapshotMaxBytes = whole(settings, ConfigKey.SnapshotMaxBytes),
      maxRuns = whole(settings, ConfigKey.CompactionMaxRuns).toInt,
      maxMergeBytes = whole(settings, ConfigKey.CompactionMaxBytes),
      maxRunFileBytes = whole(settings, ConfigKey.RunMaxFileBytes),
      runBlockBytes = whole(settings, ConfigKey.RunBlockBytes).toInt,
      cacheShare = whole(settings, ConfigKey.RunCacheShare).toInt,
      bloomBits = whole(settings, ConfigKey.RunBloomBits).toInt,
      maxOpenFiles = whole(settings, ConfigKey.RunMaxOpenFiles).toInt,
      partitionsOfSession = word(settings, ConfigKey.Partitions) == "session",
      restoreEagerly = word(settings, ConfigKey.RestoreMode) == "eager",
      maxMemory = memory(settings, ConfigKey.MemoryMaxBytes),
      preventEvictionMs = whole(settings, ConfigKey.MemoryPreventEvictionFor),
      exactKeyCount = word(settings, ConfigKey.ExactKeyCount) == "true",
      timeBuckets = timeBuckets(settings),
      objectStores = schemes(settings, ConfigKey.ObjectStoreSchemes),
      localDir = Some(text(settings, ConfigKey.LocalDir)).filter(_ != ConfigKey.LocalDir.default),
      rocksDb = RocksDbConfig(
        preset = word(settings, ConfigKey.RocksDbPreset),
        dbOptions = named(settings, ConfigKey.RocksDbOptions, RocksDbConfig.Db),
        cfOptions = named(settings, ConfigKey.RocksDbOptions, RocksDbConfig.Cf),
        optionsFactory = Some(text(settings, ConfigKey.RocksDbOptionsFactory))
          .filter(_ != ConfigKey.RocksDbOptionsFactory.default)
      ),
      rocksDbMemory = RocksDbMemory(
        whole(settings, ConfigKey.RocksDbHeapBytes),
        whole(settings, ConfigKey.RocksDbMemoryShare).toInt,
        whole(settings, ConfigKey.RocksDbMaxBytesPerSecond)
      ),
      spark = spark
    )
  }

  private def rejectUnknown(settings: Map[String, String]): Unit = {
    val (families, single) = ConfigKey.all.partition(_.kind.isInstanceOf[ConfigType.Named])
    val known = single.map(_.key).toSet
    settings.keys.toSeq.sorted.foreach { key =>
      if (
        key.startsWith(ConfigKey.Prefix) && !known(key) && !QueryScope.isScoped(key) &&
        !families.exists(isNamed(_, key))
      ) {
        val nearest = Nearest.of(key, ConfigKey.all.map(_.key))
        val meant = ConfigKey.all.filter(_.key == nearest).flatMap(_.shown)
        throw new InvalidException(
          s"Unknown setting $key",
          s"Did you mean ${meant.mkString(" or ")}? " +
            s"Known settings: ${ConfigKey.all.flatMap(_.shown).mkString(", ")}."
        )
      }
    }
  }

  /** Whether a key is one of those below a setting. Throws where it is below it, but in none of its groups. */
  private def isNamed(setting: ConfigKey, key: String): Boolean =
    key.startsWith(setting.key + ".") && {
      if (!setting.shown.exists(form => startsBeyond(key, form.stripSuffix("<name>"))))
        throw new InvalidException(
          s"Unknown setting $key: '${key.drop(setting.key.length + 1)}' is in no group of ${setting.name}",
          s"Did you mean ${setting.shown.mkString(" or ")}?"
        )
      true
    }

  private def startsBeyond(key: String, start: String): Boolean =
    key.length > start.length && key.startsWith(start)

  /** The texts of one group, by their names. */
  private def named(
      settings: Map[String, String],
      key: ConfigKey,
      group: String
  ): Map[String, String] = {
    val start = s"${key.key}.$group."
    settings.collect {
      case (full, value) if startsBeyond(full, start) =>
        if (value.trim.isEmpty)
          throw new InvalidException(
            s"$full is '$value' but must be a text that is not empty",
            "Set it to a value, or remove it."
          )
        full.drop(start.length) -> value.trim
    }
  }

  private def raw(settings: Map[String, String], key: ConfigKey): String =
    settings.getOrElse(key.key, key.default).trim

  private[bucketstate] def word(settings: Map[String, String], key: ConfigKey): String = {
    val value = raw(settings, key)
    key.kind match {
      case ConfigType.OneOf(values) if values.contains(value) => value
      case _                                                  => throw bad(key, value)
    }
  }

  private def text(settings: Map[String, String], key: ConfigKey): String = {
    val value = raw(settings, key)
    if (value.isEmpty) throw bad(key, value) else value
  }

  private[bucketstate] def whole(settings: Map[String, String], key: ConfigKey): Long = {
    val value = raw(settings, key)
    val (min, max) = key.kind match {
      case ConfigType.IntRange(lo, hi) => (lo.toLong, hi.toLong)
      case ConfigType.Millis(lo, hi)   => (lo, hi)
      case ConfigType.Bytes(lo, hi)    => (lo, hi)
      case _                           => throw bad(key, value)
    }
    val number = key.kind match {
      case _: ConfigType.Bytes => bytes(value)
      case _                   => value.toLongOption
    }
    number.filter(n => n >= min && n <= max).getOrElse(throw bad(key, value))
  }

  private def memory(settings: Map[String, String], key: ConfigKey): MemoryLimit = {
    val value = raw(settings, key)
    val limit = value match {
      case "auto"         => Some(MemoryLimit.Auto)
      case Percent(share) =>
        share.toIntOption.filter(p => p >= 1 && p <= MostPercent).map(MemoryLimit.Share(_))
      case _ => bytes(value).filter(_ >= LeastMemory).map(MemoryLimit.Bytes(_))
    }
    limit.getOrElse(throw bad(key, value))
  }

  private def schemes(settings: Map[String, String], key: ConfigKey): Set[String] = {
    val value = text(settings, key)
    val names = if (value == "none") Nil else value.split(',').toSeq.map(_.trim)
    names.filterNot(name => Scheme.matches(name) && name != "file").foreach { wrong =>
      throw new InvalidException(
        s"${key.key} is '$value' but must be schemes with commas between them, found '$wrong'",
        s"Name the schemes of object stores as they begin a checkpoint's location, such as ${key.default}; the local " +
          "disk (file) is none."
      )
    }
    names.toSet
  }

  private def timeBuckets(settings: Map[String, String]): Option[TimeBucketConfig] = {
    val column = Some(text(settings, ConfigKey.TimeBucketColumn))
      .filter(_ != ConfigKey.TimeBucketColumn.default)
    val span = duration(settings, ConfigKey.TimeBucketSpan)
    duration(settings, ConfigKey.TimeBucketExpireAfter) match {
      case Some(after) =>
        span.filter(_ > after).foreach { longer =>
          throw new InvalidException(
            s"${ConfigKey.TimeBucketSpan.key} is ${longer}s, which is longer than " +
              s"${ConfigKey.TimeBucketExpireAfter.key}=${after}s",
            "State expires by whole spans: make the span a small part of the time after which it expires, or leave it out."
          )
        }
        span.filter(after / _ > MostSpans).foreach { short =>
          throw new InvalidException(
            s"${ConfigKey.TimeBucketSpan.key} is ${short}s, of which ${ConfigKey.TimeBucketExpireAfter.key}=${after}s has " +
              s"${after / short}; at most $MostSpans can be kept apart",
            s"Each batch writes down how many keys each span has: make it ${(after + MostSpans - 1) / MostSpans}s or " +
              "longer, or leave it out."
          )
        }
        // One that divides it, where there is one: a key is gone a span after its time then, and not two.
        val auto = SpansToExpiry
          .find(after % _ == 0)
          .fold(math.max(1L, after / SpansToExpiry.min))(after / _)
        Some(TimeBucketConfig(column, span.getOrElse(auto), Some(after)))
      case None if column.isDefined =>
        Some(TimeBucketConfig(column, span.getOrElse(SpanOfWindows), None))
      case None =>
        span.filterNot(_ => givesTimesElsewhere(settings)).foreach { _ =>
          throw new InvalidException(
            s"${ConfigKey.TimeBucketSpan.key} is set, but nothing has a time without " +
              s"${ConfigKey.TimeBucketExpireAfter.key} or ${ConfigKey.TimeBucketColumn.key}",
            s"Set ${ConfigKey.TimeBucketExpireAfter.key}, such as 7d, or remove ${ConfigKey.TimeBucketSpan.key}."
          )
        }
        None
    }
  }

  /** Whether some queries or operators have times, whose span may be given for all. */
  private def givesTimesElsewhere(settings: Map[String, String]): Boolean =
    Seq(ConfigKey.TimeBucketExpireAfter, ConfigKey.TimeBucketColumn).exists { key =>
      settings.keysIterator.exists(_.startsWith(key.key + "."))
    }

  /** Seconds, or None for the word. */
  private def duration(settings: Map[String, String], key: ConfigKey): Option[Long] = {
    val value = raw(settings, key)
    val (min, word) = key.kind match {
      case ConfigType.Duration(least, other) => (least, other)
      case _                                 => throw bad(key, value)
    }
    if (value == word) None
    else {
      val seconds = value match {
        case Time(number, unit) =>
          val each = SecondsOf(unit)
          number.toLongOption.filter(_ <= MostSeconds / each).map(_ * each)
        case _ => None
      }
      Some(seconds.filter(_ >= min).getOrElse(throw bad(key, value)))
    }
  }

  private val Time = "([0-9]+) ?(s|min|h|d)".r
  private val SecondsOf = Map("s" -> 1L, "min" -> 60L, "h" -> 3600L, "d" -> 86400L)
  private final val MostSeconds = 0xffffffffL
  private val SpansToExpiry = 16L to 64L

  /** Time buckets of a column family: footers list them, 12 bytes each, with each batch. */
  private final val MostSpans = 4000L
  private final val SpanOfWindows = 60L

  private val Scheme = "[a-z][a-z0-9+.-]*".r

  private val Percent = "([0-9]+) ?%".r
  private final val MostPercent = 90
  private final val LeastMemory = 1L << 20

  /** A number with one of Spark's suffixes, which are powers of 1024. */
  private def bytes(text: String): Option[Long] = text.toLowerCase(Locale.ROOT) match {
    case ByteString(digits, unit) =>
      val factor = 1L << (10 * math.max(0, " kmgt".indexOf(unit.take(1).padTo(1, ' '))))
      digits.toLongOption.filter(_ <= Long.MaxValue / factor).map(_ * factor)
    case _ => None
  }

  private val ByteString = "([0-9]+)((?:[kmgt]?b?)?)".r

  private def bad(key: ConfigKey, value: String): InvalidException =
    new InvalidException(
      s"${key.key} is '$value' but must be ${key.kind.describe}",
      s"Set it to an allowed value, or remove it to use the default ${key.default}."
    )
}
