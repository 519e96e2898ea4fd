package io.bucketstate.move

import java.nio.file.Path

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.functions.timestamp_seconds
import org.apache.spark.sql.streaming.{GroupState, GroupStateTimeout}
import org.apache.spark.sql.types.{DataType, StructType}

import io.bucketstate.Checkpoints
import io.bucketstate.error.InvalidException
import io.bucketstate.testkit.TidySuite

/** States whose schemas take nulls in all columns, as Spark 4.3 and newer record them of queries that begin with them. */
class NullableStatesSuite extends TidySuite with CountsToMove {
  import NullableStatesSuite._

  test("a null that Spark would take for 0 is refused, and the plan says that others are not") {
    // Else there is always one more batch, to see what has timed out.
    withSession("spark.sql.streaming.noDataMicroBatches.enabled" -> "false") { (spark, folder) =>
      import spark.implicits._
      val input = memoryStream[Long](spark)

      /** What is said of rows of which one has a null in the column. */
      def refused(name: String, query: DataFrame, column: String, others: String*): String = {
        val checkpoint = folder.resolve(name)
        val running = updates(query, checkpoint)
        try addAndWait(input, running, 0L until 9L)
        finally running.stop()
        asOfNewest(checkpoint)
        val rows =
          spark.range(3).selectExpr("id as value" +: s"nullif(id, 1) as $column" +: others: _*)
        val target = folder.resolve(s"$name-new").toString
        val plan =
          Checkpoints.plan(spark, MoveRequest(MoveKind.Upsert, checkpoint.toString, target), rows)
        assert(
          plan.findings.exists { f =>
            f.severity == Severity.Warning && f.text.contains(s"refused in '$column' alone")
          },
          plan.findings
        )
        intercept[InvalidException](plan.read()).getMessage
      }

      val counts = input.toDF().groupBy("value").count()
      assert(refused("counts", counts, "count").contains("(1): 'value.count' is null"))
      val firsts = input
        .toDF()
        .withColumn("at", timestamp_seconds($"value"))
        .withWatermark("at", "1 second")
        .dropDuplicatesWithinWatermark("value")
      assert(
        refused("firsts", firsts, "expiresAtMicros")
          .contains("(1): 'value.expiresAtMicros' is null")
      )
      val sums = input
        .toDS()
        .groupByKey(_ % 3)
        .mapGroupsWithState(GroupStateTimeout.ProcessingTimeTimeout)(summed)
        .toDF()
      assert(
        refused("sums", sums, "timeoutTimestamp", "named_struct('value', id) as state")
          .contains("(1): 'value.timeoutTimestamp' is null")
      )
    }
  }

  private def asOfNewest(checkpoint: Path): Unit = {
    RecordedBySpark.settings(
      checkpoint,
      "spark.sql.streaming.statefulOperator.alwaysNullableOutput.enabled" -> "true"
    )
    RecordedBySpark.schema(checkpoint) { family =>
      family.copy(
        keySchema = nullable(family.keySchema),
        valueSchema = nullable(family.valueSchema)
      )
    }
  }
}

private object NullableStatesSuite {

  private def nullable(schema: StructType): StructType =
    DataType
      .fromJson(schema.json.replace("\"nullable\":false", "\"nullable\":true"))
      .asInstanceOf[StructType]

  private val summed = (key: Long, values: Iterator[Long], state: GroupState[Long]) => {
    state.update(state.getOption.getOrElse(0L) + values.sum)
    (key, state.get)
  }
}
