package io.bucketstate.move

import java.time.Clock

import org.apache.spark.sql.SparkSession

/** Makes plans, for the doors. */
private[bucketstate] object Plans {
  def of(spark: SparkSession, request: MoveRequest): MovePlan = {
    val clock = Clock.systemUTC()
    new MovePlan(spark, new Planner(spark, request, clock).plan(), clock)
  }

  def undo(spark: SparkSession, checkpoint: String): Undone =
    new Undoing(spark, checkpoint, Clock.systemUTC()).undo()
}
