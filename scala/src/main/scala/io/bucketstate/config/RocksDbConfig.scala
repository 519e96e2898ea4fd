package io.bucketstate.config

/**
 * What users say about the local databases of [[Engine.RocksDb]]. The native options are as they were given: only
 * RocksDB knows whether it takes them. Of no use to another engine.
 *
 * @param preset         the name of the options to start from, one of [[RocksDbConfig.Presets]]
 * @param dbOptions      options of a database by RocksDB's names, with RocksDB's values
 * @param cfOptions      options of a column family and its tables, likewise
 * @param optionsFactory a class that has the last word on the options
 */
final case class RocksDbConfig(
    preset: String,
    dbOptions: Map[String, String],
    cfOptions: Map[String, String],
    optionsFactory: Option[String]
) {

  /** Whether nothing changes what the preset says. */
  def isPresetAlone: Boolean = dbOptions.isEmpty && cfOptions.isEmpty && optionsFactory.isEmpty
}

object RocksDbConfig {

  val Presets: Seq[String] =
    Seq("default", "spinning-disk", "spinning-disk-high-memory", "flash-ssd", "small-memory")

  /** The two groups of [[ConfigKey.RocksDbOptions]]. */
  private[bucketstate] val Db = "db"
  private[bucketstate] val Cf = "cf"
}

/**
 * What the stores of [[Engine.RocksDb]] may take.
 *
 * @param heapBytes         heap that what was used last may take
 * @param share             of the memory for state, in percent, that databases may take for their own
 * @param maxBytesPerSecond that databases write to local disks
 */
final case class RocksDbMemory(heapBytes: Long, share: Int, maxBytesPerSecond: Long)
