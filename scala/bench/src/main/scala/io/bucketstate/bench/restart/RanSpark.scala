package io.bucketstate.bench
package restart

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.functions.{col, count}

/** A JVM in which Spark has run one trivial batch query with a shuffle, and is still there. */
object RanSpark {

  def apply[A](settings: (String, String)*)(body: => A): A = {
    val builder = SparkSession
      .builder()
      .master("local[2]")
      .config("spark.ui.enabled", "false")
      .config("spark.sql.shuffle.partitions", "2")
    settings.foreach { case (key, value) => builder.config(key, value) }
    val spark = builder.getOrCreate()
    try {
      val groups = spark.range(0L, 1000L, 1L, 2).groupBy(col("id") % 10).agg(count("*")).collect()
      if (groups.length != 10) throw new IllegalStateException(s"${groups.length} groups, not 10")
      // The coordinator of stores comes with it. RocksDB's provider loads no snapshot where there is none to tell.
      if (spark.streams.active.nonEmpty) throw new IllegalStateException("a query is running")
      body
    } finally spark.stop()
  }
}
