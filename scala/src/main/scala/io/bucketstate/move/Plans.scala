package io.bucketstate.move

import java.time.Clock

import org.apache.spark.sql.{DataFrame, SparkSession}

/** Makes plans, for the doors. */
private[bucketstate] object Plans {

  /** @param rows for an upsert; None to take them from where the request says */
  def of(spark: SparkSession, request: MoveRequest, rows: Option[DataFrame] = None): MovePlan = {
    val clock = Clock.systemUTC()
    new MovePlan(spark, new Planner(spark, request, rows, clock).plan(), clock)
  }

  def undo(spark: SparkSession, checkpoint: String): Undone =
    new Undoing(spark, checkpoint, Clock.systemUTC()).undo()
}
