package io.bucketstate.s3

import org.apache.spark.sql.SparkSession
import org.scalatest.BeforeAndAfterAll
import org.scalatest.funsuite.AnyFunSuite

import io.bucketstate.Checkpoints
import io.bucketstate.move.{MoveKind, MoveRequest}
import io.bucketstate.testkit.{ProviderHarness, Seeds}

/** A state that is moved from a local disk to S3A, there, and back; the query goes on in each place. */
class S3MovesSuite extends AnyFunSuite with MovedSums with BeforeAndAfterAll {
  import MovedSums._

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
        val input = new Input(spark, folder)
        def batches(checkpoint: String, provider: String): Map[Long, Long] = {
          input.feed(2)
          input.run(checkpoint, provider)
        }
        val (local, back) = (folder.resolve("local").toString, folder.resolve("back").toString)
        val (one, two) = (bucket.newLocation(), bucket.newLocation())
        assert(batches(local, Hdfs) == expected(2))
        assert(
          move(
            spark,
            MoveRequest(MoveKind.Import, local, one, partitions = Some(partitions))
          ) == Keys
        )
        assert(batches(one, ProviderHarness.ProviderClass) == expected(4))
        val rewrite =
          MoveRequest(MoveKind.Rewrite, one, two, partitions = Some(4), buckets = Some(8))
        assert(move(spark, rewrite) == Keys)
        assert(batches(two, ProviderHarness.ProviderClass) == expected(6))
        assert(move(spark, MoveRequest(MoveKind.Export, two, back, to = "hdfs")) == Keys)
        assert(batches(back, Hdfs) == expected(8))
      }
    }
}
