package io.bucketstate.plugin

import io.bucketstate.config.{MetricKey, MetricOver, MetricType}
import io.bucketstate.plugin.status.{ExecutorStatus, OperatorStatus, StoreStatus}

/**
 * One figure of a thing, whatever shows it.
 *
 * @param name  for Prometheus
 * @param short for registries of metrics
 * @param isTotal whether it only grows
 * @param value in the unit that `short` says
 * @param unit  what one of it is in the unit that `name` says
 */
private[plugin] final case class Series(
    name: String,
    short: String,
    doc: String,
    isTotal: Boolean,
    value: Double,
    unit: Double = 1.0
)

/** The figures of executors, operators and stores, each in one order. */
private[plugin] object Series {
  private val Prefix = MetricKey.PrometheusPrefix

  /** The figures of one process. */
  def of(executor: ExecutorStatus): Seq[Series] = Seq(
    gauge(
      "executor_memory_bytes",
      "memoryBytes",
      "heap that the state of all stores of an executor takes",
      executor.memoryBytes
    ),
    gauge(
      "executor_memory_limit_bytes",
      "memoryLimitBytes",
      "heap that it may take",
      executor.memoryLimit
    ),
    gauge(
      "executor_stores",
      "stores",
      "stores of an executor that have committed and are loaded",
      executor.stores.count(_.isLoaded).toLong
    ),
    gauge(
      "executor_background_queue",
      "backgroundQueue",
      "work beside the batches that no thread has begun",
      executor.queued.toLong
    )
  )

  /** The figures of one operator, over the stores that are given. */
  def of(stores: Seq[StoreStatus], status: OperatorStatus): Seq[Series] =
    standing(stores) ++ counted(status)

  /** The figures of one store. */
  def of(store: StoreStatus): Seq[Series] = standing(Seq(store)) ++ Seq(
    total("store_commits", "storeCommits", "commits of the store", store.commits),
    total("store_changed_keys", "storeChangedKeys", "keys that these changed", store.changed)
  )

  private def standing(stores: Seq[StoreStatus]): Seq[Series] = Seq(
    gauge(
      "stores",
      "stores",
      "stores that have committed and are loaded",
      stores.count(_.isLoaded).toLong
    ),
    gauge("keys", "keys", "keys of the state", stores.map(_.keys).sum),
    gauge(
      "memory_bytes",
      "memoryBytes",
      "what the state takes in memory, an estimate",
      stores.map(_.memoryBytes).sum
    ),
    gauge(
      "version",
      "version",
      "newest version that was committed",
      stores.map(_.version).maxOption.getOrElse(0L)
    )
  ) ++ MetricKey.all.filter(_.metricType == MetricType.Gauge).map { key =>
    val values = stores.map(_.gauges.getOrElse(key, 0L))
    val value = key.over match {
      case MetricOver.Sum     => values.sum
      case MetricOver.Highest => values.maxOption.getOrElse(0L)
    }
    of(key, value)
  }

  private def counted(status: OperatorStatus): Seq[Series] =
    MetricKey.all
      .filter(_.metricType == MetricType.Counter)
      .map(key => of(key, status.counters.getOrElse(key, 0L)))

  private def of(key: MetricKey, value: Long): Series = {
    val bare = key.name.stripPrefix("bucketed")
    Series(
      key.prometheus,
      s"${bare.head.toLower}${bare.tail}",
      key.doc,
      isTotal = key.metricType == MetricType.Counter,
      value.toDouble,
      key.prometheusUnit
    )
  }

  private def gauge(name: String, short: String, doc: String, value: Long): Series =
    Series(Prefix + name, short, doc, isTotal = false, value.toDouble)

  private def total(name: String, short: String, doc: String, value: Long): Series =
    Series(s"$Prefix${name}_total", short, doc, isTotal = true, value.toDouble)
}
