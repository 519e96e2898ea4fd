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
      "('partition'), to Prometheus and in Spark's registry. 'auto' leaves the partitions out where all of the " +
      "application's would be more than a thousand series."
  )
  val Interval: ConfigKey = key(
    "metrics.interval",
    ConfigType.Millis(100L, 3600000L),
    "5000",
    "How often each executor tells the driver how its stores stand, in milliseconds."
  )

  val JvmWarmUp: ConfigKey = key(
    "jvmWarmUp",
    ConfigType.Millis(0L, 60000L),
    "2000",
    "How much processor time each executor spends on a small store of its own while Spark starts, in milliseconds, so " +
      "that the first batch finds the classes of a store loaded and in part compiled. 0 turns it off. In local mode, " +
      "where driver and executor are one process, it is off unless this is set."
  )
  val Tab: ConfigKey = key(
    "ui.enabled",
    ConfigType.OneOf(Seq("true", "false")),
    "true",
    "Whether Spark's web UI has the tab State, where it has a web UI."
  )
  val LogInterval: ConfigKey = key(
    "ui.logInterval",
    ConfigType.Millis(0L, 86400000L),
    "60000",
    "How often what an executor tells of its stores goes into the application's event log, in milliseconds, so that the " +
      "history server can show it; the last of a query goes there in any case. 0 for never."
  )

  val all: Seq[ConfigKey] = Seq(Series, Interval, JvmWarmUp, Tab, LogInterval)

  private def key(name: String, kind: ConfigType, default: String, doc: String): ConfigKey =
    ConfigKey(name, kind, default, doc, prefix = Prefix)
}
