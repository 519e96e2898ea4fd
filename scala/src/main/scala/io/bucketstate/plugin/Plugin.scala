package io.bucketstate.plugin

import org.apache.spark.api.plugin.{DriverPlugin, ExecutorPlugin}
import org.apache.spark.sql.execution.streaming.state.StateStoreProvider

/**
 * Both sides of the plugin.
 *
 * @param provider     class name of the provider
 * @param extension    class name of the session extension
 * @param makeProvider one that is not initialised
 */
private[bucketstate] final class Plugin(
    provider: String,
    extension: String,
    makeProvider: () => StateStoreProvider
) {
  def driver: DriverPlugin = new DriverSide(new TurnedOn(provider, extension))

  def executor: ExecutorPlugin = new ExecutorSide(provider, makeProvider)
}
