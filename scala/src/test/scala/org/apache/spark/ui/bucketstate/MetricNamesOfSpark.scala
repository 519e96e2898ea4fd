package org.apache.spark.ui.bucketstate

import java.util.{Set => JSet}

import com.codahale.metrics.MetricRegistry
import org.apache.spark.SparkEnv
import org.apache.spark.metrics.MetricsSystem

/** Spark's registry of metrics, which only its sinks see. */
object MetricNamesOfSpark {

  def all(env: SparkEnv): JSet[String] = {
    val field = classOf[MetricsSystem].getDeclaredField("registry")
    field.setAccessible(true)
    field.get(env.metricsSystem).asInstanceOf[MetricRegistry].getNames
  }
}
