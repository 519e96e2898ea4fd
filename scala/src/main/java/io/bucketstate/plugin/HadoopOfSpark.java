package io.bucketstate.plugin;

import org.apache.hadoop.conf.Configuration;
import org.apache.spark.SparkConf;
import org.apache.spark.deploy.SparkHadoopUtil;

/**
 * Hadoop's settings as Spark makes them of an application's. In Java, because the class is Spark's own for Scala's
 * compiler.
 */
final class HadoopOfSpark {
  private HadoopOfSpark() {}

  /** Settings as files of this process are reached with. */
  static Configuration conf(SparkConf conf) {
    return SparkHadoopUtil.get().newConfiguration(conf);
  }
}
