package org.apache.spark.ui.bucketstate

import org.apache.hadoop.conf.Configuration
import org.apache.spark.SparkConf
import org.apache.spark.deploy.SparkHadoopUtil

/** Hadoop's settings as Spark makes them of an application's, which is private to Spark. */
object HadoopOfSpark {

  /** Settings as files of this process are reached with. */
  def conf(conf: SparkConf): Configuration = SparkHadoopUtil.get.newConfiguration(conf)
}
