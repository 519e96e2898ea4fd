package io.bucketstate.config

/**
 * The registry of the plugin's settings, as [[ConfigKey]] is of those of the stores. They are of the application, not of a
 * query, and are read once, when Spark starts.
 */
object PluginKey {

  /** Spark ships every key below `spark.` to the executors. */
  val Prefix = "spark.bucketstate."

  val Series: ConfigKey = key(
    "metrics.series",
    ConfigType.OneOf(Seq("auto", "query", "partition")),
    "auto",
    "Whether metrics are given for each stateful operator of a query ('query'), or for each of its partitions, too " +
      "('partition'). 'auto' leaves the partitions out where there would be more than a thousand series."
  )
  val Interval: ConfigKey = key(
    "metrics.interval",
    ConfigType.Millis(100L, 3600000L),
    "5000",
    "How often each executor tells the driver how its stores stand, in milliseconds."
  )

  val all: Seq[ConfigKey] = Seq(Series, Interval)

  private def key(name: String, kind: ConfigType, default: String, doc: String): ConfigKey =
    ConfigKey(name, kind, default, doc, prefix = Prefix)
}
