package io.bucketstate.config

import org.apache.commons.text.similarity.LevenshteinDistance

import io.bucketstate.error.InvalidException

/**
 * All settings of one store, parsed and checked once. Immutable.
 *
 * The first group is the provider's own ([[ConfigKey]]); the second is Spark's, honoured as they are.
 *
 * @param numBuckets           buckets per store
 * @param lockAcquireTimeoutMs how long a task waits for a store that another task holds
 * @param minVersionsToRetain  Spark's `minBatchesToRetain`: versions a restart may ask for
 * @param versionsInMemory     Spark's `maxBatchesToRetainInMemory`, at least the newest
 * @param compressionCodec     Spark's `compression.codec`: lz4, zstd, snappy, lzf
 */
final case class StoreConfig(
    numBuckets: Int,
    lockAcquireTimeoutMs: Long,
    minVersionsToRetain: Int,
    versionsInMemory: Int,
    compressionCodec: String
)

object StoreConfig {

  /**
   * Parses the `bucketed.` settings out of all settings below `spark.sql.streaming.stateStore.`.
   *
   * Throws `InvalidException` that names the key, the value and what is allowed; for an unknown key,
   * the nearest known one.
   */
  def parse(
      settings: Map[String, String],
      minVersionsToRetain: Int,
      versionsInMemory: Int,
      compressionCodec: String
  ): StoreConfig = {
    rejectUnknown(settings)
    word(settings, ConfigKey.Engine)
    StoreConfig(
      numBuckets = whole(settings, ConfigKey.NumBuckets).toInt,
      lockAcquireTimeoutMs = whole(settings, ConfigKey.LockAcquireTimeout),
      minVersionsToRetain = minVersionsToRetain,
      versionsInMemory = math.max(1, versionsInMemory),
      compressionCodec = compressionCodec
    )
  }

  private def rejectUnknown(settings: Map[String, String]): Unit = {
    val known = ConfigKey.all.map(_.key)
    settings.keys.toSeq.sorted.foreach { key =>
      if (key.startsWith(ConfigKey.Prefix) && !known.contains(key)) {
        val distance = LevenshteinDistance.getDefaultInstance
        val nearest = known.minBy(k => distance.apply(k, key).intValue)
        throw new InvalidException(
          s"Unknown setting $key",
          s"Did you mean $nearest? Known settings: ${known.mkString(", ")}."
        )
      }
    }
  }

  private def raw(settings: Map[String, String], key: ConfigKey): String =
    settings.getOrElse(key.key, key.default).trim

  private def word(settings: Map[String, String], key: ConfigKey): String = {
    val value = raw(settings, key)
    key.kind match {
      case ConfigType.OneOf(values) if values.contains(value) => value
      case _                                                  => throw bad(key, value)
    }
  }

  private def whole(settings: Map[String, String], key: ConfigKey): Long = {
    val value = raw(settings, key)
    val (min, max) = key.kind match {
      case ConfigType.IntRange(lo, hi) => (lo.toLong, hi.toLong)
      case ConfigType.Millis(lo, hi)   => (lo, hi)
      case ConfigType.OneOf(_)         => throw bad(key, value)
    }
    value.toLongOption.filter(n => n >= min && n <= max).getOrElse(throw bad(key, value))
  }

  private def bad(key: ConfigKey, value: String): InvalidException =
    new InvalidException(
      s"${key.key} is '$value' but must be ${key.kind.describe}",
      s"Set it to an allowed value, or remove it to use the default ${key.default}."
    )
}
