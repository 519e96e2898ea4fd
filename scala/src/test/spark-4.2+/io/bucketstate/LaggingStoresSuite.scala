package io.bucketstate

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.functions.{count, lit}

import io.bucketstate.testkit.{Queries, TidySuite}

/** Stores that Spark's coordinator takes to be behind, and asks for a snapshot in their commit. */
class LaggingStoresSuite extends TidySuite with Queries {

  test("after a restart no store is taken for one that never had a snapshot") {
    withSession(
      // Ten versions are a lag instead of fifty.
      "spark.sql.streaming.stateStore.multiplierForMinVersionDiffToLog" -> "1"
    ) { (spark, folder) =>
      import spark.implicits._
      val checkpoint = folder.resolve("checkpoint").toString
      val input = memoryStream[Long](spark)
      def forced(batches: Range): Long = {
        val query = input
          .toDF()
          .groupBy("value")
          .agg(count(lit(1)))
          .writeStream
          .format("noop")
          .outputMode("update")
          .option("checkpointLocation", checkpoint)
          .start()
        try batches.foreach(b => addAndWait(input, query, Seq(b.toLong)))
        finally query.stop()
        query.recentProgress.toSeq
          .flatMap(_.stateOperators)
          .flatMap(_.customMetrics.asScala.get("forceSnapshotCount"))
          .map(_.toLong)
          .sum
      }
      forced(0 until 23)
      // No snapshot is due by the versions since the last one.
      assert(forced(23 until 28) == 0)
    }
  }
}
