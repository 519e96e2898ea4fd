package io.bucketstate.s3

import java.nio.file.Path

import org.apache.spark.sql.functions.sum
import org.apache.spark.sql.streaming.Trigger
import org.apache.spark.sql.{DataFrame, SparkSession}

import io.bucketstate.testkit.Queries

/** A query that adds up rows of files, whose checkpoint is moved while it is stopped. */
trait MovedSums extends Queries {
  import MovedSums._

  /** The files of one query, wherever its checkpoint is. */
  protected final class Input(spark: SparkSession, folder: Path) {
    private[this] val path = folder.resolve("input").toString

    /** So many batches more, of a file each. */
    def feed(batches: Int): Unit = for (_ <- 1 to batches)
      spark.range(Keys).selectExpr("id", "1L as n").coalesce(1).write.mode("append").parquet(path)

    /** Takes what a checkpoint has not seen; the sums that the last batch told. */
    def run(checkpoint: String, provider: String): Map[Long, Long] = {
      spark.conf.set("spark.sql.streaming.stateStore.providerClass", provider)
      var told = Map.empty[Long, Long]
      val query = spark.readStream
        .schema("id long, n long")
        .option("maxFilesPerTrigger", "1")
        .parquet(path)
        .groupBy("id")
        .agg(sum("n"))
        .writeStream
        .outputMode("update")
        .option("checkpointLocation", checkpoint)
        .trigger(Trigger.AvailableNow)
        .foreachBatch { (rows: DataFrame, _: Long) =>
          told = rows.collect().map(row => row.getLong(0) -> row.getLong(1)).toMap
        }
        .start()
      query.awaitTermination()
      told
    }
  }
}

private object MovedSums {
  val Keys = 50L
  val Hdfs = "org.apache.spark.sql.execution.streaming.state.HDFSBackedStateStoreProvider"

  /** Each key comes once with each batch. */
  def expected(batches: Int): Map[Long, Long] = (0L until Keys).map(_ -> batches.toLong).toMap
}
