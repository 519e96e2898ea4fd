package io.bucketstate.testkit

import java.nio.file.Path

import org.apache.spark.sql.functions.col
import org.apache.spark.sql.streaming.StreamingQuery
import org.apache.spark.sql.{DataFrame, Dataset, SparkSession}

/** A query that counts numbers by their last digit in base five, and what it must say. */
trait DigitCounts extends Queries {

  protected def counts(source: Dataset[Int]): DataFrame =
    source.groupBy((col("value") % 5).as("digit")).count()

  protected def found(spark: SparkSession, name: String): Map[Int, Long] =
    spark.table(name).collect().map(row => row.getInt(0) -> row.getLong(1)).toMap

  protected def expected(upTo: Int): Map[Int, Long] =
    (0 until upTo).groupMapReduce(_ % 5)(_ => 1L)(_ + _)

  /** The custom metric of the last batch, over all partitions. */
  protected def metric(query: StreamingQuery, name: String): Long =
    query.recentProgress.last.stateOperators.head.customMetrics.get(name)

  protected def hasSnapshots(folder: Path): Boolean =
    LiveFolder.names(folder).exists(_.endsWith(".manifest"))
}
