package io.bucketstate.plugin

import org.apache.spark.api.plugin.{DriverPlugin, ExecutorPlugin}

/**
 * Both sides of the plugin.
 *
 * @param provider  class name of the provider
 * @param extension class name of the session extension
 */
private[bucketstate] final class Plugin(provider: String, extension: String) {
  def driver: DriverPlugin = new DriverSide(new TurnedOn(provider, extension))

  def executor: ExecutorPlugin = new ExecutorSide
}
