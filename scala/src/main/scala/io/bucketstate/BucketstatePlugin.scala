package io.bucketstate

import org.apache.spark.SPARK_VERSION
import org.apache.spark.api.plugin.{DriverPlugin, ExecutorPlugin, SparkPlugin}

import io.bucketstate.plugin.Plugin
import io.bucketstate.spark.BuiltForSpark

/**
 * The plugin that turns everything on with one setting: `spark.plugins=io.bucketstate.BucketstatePlugin`.
 *
 * Before a session is made it names the provider and the session extension, unless the application has another
 * provider; it gives metrics of the stores to Spark's registries and, for Prometheus, to its web UI, and warms each
 * process up that runs tasks. It is Spark's to make it, on the driver and in each executor. What fails in it is logged once and fails nothing else.
 */
final class BucketstatePlugin extends SparkPlugin {
  private[this] val plugin = new Plugin(
    classOf[BucketedStateStoreProvider].getName,
    classOf[BucketstateExtensions].getName,
    () => new BucketedStateStoreProvider,
    () => BuiltForSpark.require(SPARK_VERSION)
  )

  override def driverPlugin(): DriverPlugin = plugin.driver

  override def executorPlugin(): ExecutorPlugin = plugin.executor.orNull
}
