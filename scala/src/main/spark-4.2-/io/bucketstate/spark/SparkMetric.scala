package io.bucketstate.spark

import org.apache.spark.sql.execution.streaming.state.StateStoreCustomMetric

/** Spark's trait of a metric, with what later ones have besides. */
private[spark] trait SparkMetric extends StateStoreCustomMetric {
  def isSnapshot: Boolean
}
