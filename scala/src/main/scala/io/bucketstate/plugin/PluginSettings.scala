package io.bucketstate.plugin

import org.apache.spark.SparkConf

import io.bucketstate.config.{MetricKey, Nearest, PluginKey, StoreConfig}
import io.bucketstate.error.InvalidException

/** What the plugin itself is set to. */
private[plugin] final case class PluginSettings(
    series: String,
    intervalMs: Long,
    warmUpIfSetMs: Option[Long],
    hasTab: Boolean,
    logIntervalMs: Long
) {

  /**
   * Processor time for the warm-up.
   *
   * @param inDriver whether this process is the driver, too, as in local mode: there Spark's own start needs the
   *                 processors, and a warm-up beside it has the first batch done later
   */
  def warmUpMs(inDriver: Boolean): Long =
    warmUpIfSetMs.getOrElse(if (inDriver) 0L else PluginKey.JvmWarmUp.default.toLong)
}

private[plugin] object PluginSettings {

  /** Throws `InvalidException` for a key that is not known and for a value that is not allowed. */
  def read(conf: SparkConf): PluginSettings = {
    val settings = conf
      .getAllWithPrefix(PluginKey.Prefix)
      .map { case (name, value) =>
        PluginKey.Prefix + name -> value
      }
      .toMap
    val known = PluginKey.all.map(_.key)
    settings.keys.toSeq.sorted.filterNot(known.contains).foreach { key =>
      throw new InvalidException(
        s"Unknown setting $key",
        s"Did you mean ${Nearest.of(key, known)}? Known settings: ${known.mkString(", ")}."
      )
    }
    PluginSettings(
      StoreConfig.word(settings, PluginKey.Series),
      StoreConfig.whole(settings, PluginKey.Interval),
      Option.when(settings.contains(PluginKey.JvmWarmUp.key))(
        StoreConfig.whole(settings, PluginKey.JvmWarmUp)
      ),
      StoreConfig.word(settings, PluginKey.Tab) == "true",
      StoreConfig.whole(settings, PluginKey.LogInterval)
    )
  }
}

/**
 * What the application's settings are made of, before a session is: provider, session extension, and the charts of
 * Spark's own streaming page. What a user has set stays.
 */
private[bucketstate] final class TurnedOn(provider: String, extension: String) {
  import TurnedOn._

  /** Changes `conf`, and gives what it has changed. */
  def apply(conf: SparkConf): Map[String, String] = {
    val extensions = listed(conf.get(Extensions, ""))
    val set = Map.newBuilder[String, String]
    if (!conf.contains(Provider)) set += Provider -> provider
    // Spark runs the rules of the first one last: behind others that touch the same operators.
    if (!extensions.contains(extension)) {
      set += Extensions -> (extension +: extensions).mkString(",")
    }
    // The page of a query whose provider has no such metrics would fail.
    if (conf.get(Provider, provider) == provider && !conf.contains(Charts)) {
      set += Charts -> Charted.map(_.name).mkString(",")
    }
    val changed = set.result()
    changed.foreach { case (key, value) => conf.set(key, value) }
    changed
  }

  private def listed(names: String): Seq[String] =
    names.split(",").iterator.map(_.trim).filter(_.nonEmpty).toSeq
}

private[bucketstate] object TurnedOn {
  val Provider = "spark.sql.streaming.stateStore.providerClass"
  val Extensions = "spark.sql.extensions"
  val Charts = "spark.sql.streaming.ui.enabledCustomMetricList"

  /** What Spark's page draws for each query: what an operator looks at first. */
  val Charted: Seq[MetricKey] = Seq(
    MetricKey.ChangelogBytes,
    MetricKey.ColdReads,
    MetricKey.Evictions,
    MetricKey.SnapshotLag
  )
}
