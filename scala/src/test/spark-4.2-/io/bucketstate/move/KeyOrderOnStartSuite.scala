package io.bucketstate.move

import org.apache.spark.sql.types.StructType

import io.bucketstate.error.InvalidException
import io.bucketstate.testkit.TidySuite

/** The checkpoint of a query that began with Spark 4.3, on a Spark that orders the columns of its key otherwise. */
class KeyOrderOnStartSuite extends TidySuite with CountsToMove {
  import KeyOrderOnStartSuite._

  for (withinWatermark <- Seq(false, true))
    test(s"five columns in another order are refused, withinWatermark=$withinWatermark") {
      withSession("spark.sql.streaming.noDataMicroBatches.enabled" -> "false") { (spark, folder) =>
        import spark.implicits._
        val checkpoint = folder.resolve("checkpoint")
        val input = memoryStream[Long](spark)
        val rows = input.toDF().selectExpr(Columns.map(c => s"value as $c") :+ At: _*)
        val unique =
          if (withinWatermark)
            rows
              .withWatermark("at", "1 second")
              .dropDuplicatesWithinWatermark(Columns.head, Columns.tail: _*)
          else rows.dropDuplicates(Columns)
        def run(): Unit = {
          val query = updates(unique, checkpoint)
          try addAndWait(input, query, 0L until 9L)
          finally query.stop()
        }
        run()
        // The order is that of this Spark: whatever the log says, the query goes on.
        RecordedBySpark.settings(checkpoint, AsGiven -> "true")
        run()
        var here = Seq.empty[String]
        RecordedBySpark.schema(checkpoint) { family =>
          here = family.keySchema.fieldNames.toSeq
          family.copy(keySchema = StructType(Columns.map(family.keySchema(_))))
        }
        assert(here.sorted == Columns && here != Columns)
        RecordedBySpark.settings(checkpoint, AsGiven -> "true")
        val refused = intercept[InvalidException](run()).getMessage
        assert(refused.contains("(operator 0) is (a, b, c, d, e). Spark 4."), refused)
        assert(refused.contains(s"makes it (${here.mkString(", ")}), and every row"), refused)
        // A query that began with an older Spark has its columns in an order that nobody has changed.
        RecordedBySpark.settings(checkpoint, AsGiven -> "false")
        run()
      }
    }
}

private object KeyOrderOnStartSuite {
  val Columns: Seq[String] = Seq("a", "b", "c", "d", "e")
  val At = "timestamp_seconds(value) as at"
  val AsGiven = "spark.sql.dropDuplicates.deterministicKeyOrder.enabled"
}
