package io.bucketstate.config

/**
 * One setting of the plugin: of the application, not of a query, and read once, when Spark starts.
 *
 * @param name    the part behind [[PluginKey.Prefix]]
 * @param default as a user would write it
 * @param doc     short sentences, as in [[ConfigKey]]
 */
final case class PluginKey(name: String, kind: ConfigType, default: String, doc: String) {
  def key: String = PluginKey.Prefix + name
}

/** The registry of the plugin's settings, as [[ConfigKey]] is of those of the stores. */
object PluginKey {

  /** Spark ships every key below `spark.` to the executors. */
  val Prefix = "spark.bucketstate."

  val Series: PluginKey = PluginKey(
    "metrics.series",
    ConfigType.OneOf(Seq("auto", "query", "partition")),
    "auto",
    "Whether metrics are given for each stateful operator of a query ('query'), or for each of its partitions, too " +
      "('partition'). 'auto' leaves the partitions out where there would be more than a thousand series."
  )
  val Interval: PluginKey = PluginKey(
    "metrics.interval",
    ConfigType.Millis(100L, 3600000L),
    "5000",
    "How often each executor tells the driver how its stores stand, in milliseconds."
  )

  val all: Seq[PluginKey] = Seq(Series, Interval)
}
