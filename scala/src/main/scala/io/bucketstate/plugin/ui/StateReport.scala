package io.bucketstate.plugin.ui

import org.apache.spark.scheduler.SparkListenerEvent

/**
 * What an executor told, as an event that Spark writes into the application's log.
 *
 * @param status as `StatusJson` has it
 */
final case class StateReport(status: String) extends SparkListenerEvent
