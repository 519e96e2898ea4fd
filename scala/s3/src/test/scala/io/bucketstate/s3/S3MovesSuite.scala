package io.bucketstate.s3

import java.nio.file.Path

import org.apache.spark.sql.functions.sum
import org.apache.spark.sql.streaming.Trigger
import org.apache.spark.sql.{DataFrame, SparkSession}
import org.scalatest.BeforeAndAfterAll
import org.scalatest.funsuite.AnyFunSuite

import io.bucketstate.Checkpoints
import io.bucketstate.move.{MoveKind, MoveRequest}
import io.bucketstate.testkit.{ProviderHarness, Queries, Seeds}

/** A state that is moved from a local disk to S3A, there, and back; the query goes on in each place. */
class S3MovesSuite extends AnyFunSuite with Queries with BeforeAndAfterAll {
  import S3MovesSuite._

  private lazy val bucket = new Bucket

  override protected def afterAll(): Unit = bucket.close()

  private def move(spark: SparkSession, request: MoveRequest): Long = {
    val plan = Checkpoints.plan(spark, request)
    assert(plan.isPossible, plan)
    plan.run().keys
  }

  for (partitions <- Seq(3).take(Seeds.of(few = 0, many = 1)))
    test(s"to S3, into $partitions partitions there, and back") {
      withSession(bucket.sparkSettings: _*) { (spark, folder) =>
        val (local, back) = (folder.resolve("local").toString, folder.resolve("back").toString)
        val (one, two) = (bucket.newLocation(), bucket.newLocation())
        assert(batches(spark, folder, local, Hdfs, 2) == expected(2))
        assert(
          move(
            spark,
            MoveRequest(MoveKind.Import, local, one, partitions = Some(partitions))
          ) == Keys
        )
        assert(batches(spark, folder, one, ProviderHarness.ProviderClass, 2) == expected(4))
        val rewrite =
          MoveRequest(MoveKind.Rewrite, one, two, partitions = Some(4), buckets = Some(8))
        assert(move(spark, rewrite) == Keys)
        assert(batches(spark, folder, two, ProviderHarness.ProviderClass, 2) == expected(6))
        assert(move(spark, MoveRequest(MoveKind.Export, two, back, to = "hdfs")) == Keys)
        assert(batches(spark, folder, back, Hdfs, 2) == expected(8))
      }
    }

  /** So many batches more, of a file each; the sums that the last one told. */
  private def batches(
      spark: SparkSession,
      folder: Path,
      checkpoint: String,
      provider: String,
      count: Int
  ): Map[Long, Long] = {
    val input = folder.resolve("input").toString
    for (_ <- 1 to count)
      spark.range(Keys).selectExpr("id", "1L as n").coalesce(1).write.mode("append").parquet(input)
    spark.conf.set("spark.sql.streaming.stateStore.providerClass", provider)
    var told = Map.empty[Long, Long]
    val query = spark.readStream
      .schema("id long, n long")
      .option("maxFilesPerTrigger", "1")
      .parquet(input)
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

private object S3MovesSuite {
  val Keys = 50L
  val Hdfs = "org.apache.spark.sql.execution.streaming.state.HDFSBackedStateStoreProvider"

  /** Each key comes once with each batch. */
  def expected(batches: Int): Map[Long, Long] = (0L until Keys).map(_ -> batches.toLong).toMap
}
