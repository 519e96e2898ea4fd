package io.bucketstate.plugin

import org.apache.spark.api.plugin.{DriverPlugin, ExecutorPlugin}
import org.apache.spark.sql.execution.streaming.state.StateStoreProvider

import io.bucketstate.error.InvalidException

/**
 * Both sides of the plugin.
 *
 * @param provider     class name of the provider
 * @param extension    class name of the session extension
 * @param makeProvider one that is not initialised
 * @param require      throws `InvalidException` where the jar is for another Spark than the one that runs
 */
private[bucketstate] final class Plugin(
    provider: String,
    extension: String,
    makeProvider: () => StateStoreProvider,
    require: () => Unit
) {
  def driver: DriverPlugin = new DriverSide(new TurnedOn(provider, extension), misfit)

  /** None where the jar is for another Spark, which the driver says. */
  def executor: Option[ExecutorPlugin] =
    if (misfit.isEmpty) Some(new ExecutorSide(provider, makeProvider)) else None

  private def misfit: Option[String] =
    try {
      require()
      None
    } catch {
      case e: InvalidException => Some(e.getMessage)
    }
}
