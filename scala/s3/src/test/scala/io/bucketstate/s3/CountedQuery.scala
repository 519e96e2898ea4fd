package io.bucketstate.s3

import java.util.concurrent.TimeUnit

import org.apache.spark.sql.execution.streaming.runtime.MemoryStream
import org.apache.spark.sql.streaming.{StreamingQuery, StreamingQueryProgress}
import org.apache.spark.sql.{DataFrame, Row, SQLContext, SparkSession}

/**
 * What was asked of the server below a query's state.
 *
 * @param requests in the folders of its stores, those of Spark's own files left out
 */
final case class Asked(requests: Seq[Seen]) {
  def byKind: Map[String, Int] =
    requests.groupBy(_.kind).map { case (kind, all) => kind -> all.size }

  def total: Int = requests.size
}

/**
 * A count of numbers by their remainder, in two partitions, with its checkpoint in a bucket.
 *
 * @param location of the checkpoint
 */
final class CountedQuery(spark: SparkSession, bucket: Bucket, location: String, groups: Long) {
  import spark.implicits._

  private[this] implicit val context: SQLContext = spark.sqlContext
  private[this] val input = MemoryStream[Long]
  private[this] var query: StreamingQuery = _
  @volatile private[this] var newest = Map.empty[Long, Long]

  /** What the last batch put out. */
  def results: Map[Long, Long] = newest

  def start(): Unit =
    query = input
      .toDF()
      .selectExpr(s"value % $groups AS remainder")
      .groupBy("remainder")
      .count()
      .writeStream
      .outputMode("complete")
      .option("checkpointLocation", location)
      .foreachBatch((batch: DataFrame, _: Long) => newest = CountedQuery.rows(batch.collect()))
      .start()

  def batch(numbers: Seq[Long]): Unit = {
    input.addData(numbers)
    query.processAllAvailable()
  }

  /** Of each batch since the start. */
  def progress: Seq[StreamingQueryProgress] = query.recentProgress.toSeq.filter(_.numInputRows > 0)

  def stop(): Unit = {
    query.stop()
    query.awaitTermination(TimeUnit.MINUTES.toMillis(1))
    ()
  }

  /** Since the last call. */
  def drain(): Asked = Asked(bucket.proxy.drain().filter(seen => CountedQuery.isOfStore(seen.what)))
}

object CountedQuery {
  private val OfStore = "/state/0/[0-9]+".r.unanchored

  /** Spark's schema of the state lies beside the stores' files. */
  private def isOfStore(what: String): Boolean =
    OfStore.matches(what) && !what.contains("/_metadata")

  private def rows(rows: Array[Row]): Map[Long, Long] =
    rows.map(row => row.getLong(0) -> row.getLong(1)).toMap

  /** What the settings of a session have to be, with this provider. */
  def settings(bucket: Bucket, provider: String): Seq[(String, String)] =
    bucket.sparkSettings ++ Seq(
      "spark.sql.streaming.stateStore.providerClass" -> provider,
      "spark.sql.streaming.numRecentProgressUpdates" -> "10000",
      "spark.sql.streaming.stateStore.maintenanceInterval" -> "5s"
    )
}
