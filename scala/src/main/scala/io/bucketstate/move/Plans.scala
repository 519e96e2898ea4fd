package io.bucketstate.move

import java.time.Clock

import org.apache.spark.sql.{DataFrame, SparkSession}

import io.bucketstate.move.log.LogText

/** Makes plans, for the doors. */
private[bucketstate] object Plans {

  /** @param rows for an upsert; None to take them from where the request says */
  def of(spark: SparkSession, request: MoveRequest, rows: Option[DataFrame] = None): MovePlan = {
    val clock = Clock.systemUTC()
    new MovePlan(spark, new Planner(spark, request, rows, clock).plan(), clock)
  }

  /** Names of the columns of the key that rows would be for, as JSON. */
  def keyColumns(spark: SparkSession, request: MoveRequest): String = {
    val names = LogText.Json.createArrayNode()
    new Planner(spark, request, frame = None, Clock.systemUTC()).keyColumns.foreach(names.add)
    names.toString
  }

  def undo(spark: SparkSession, checkpoint: String): Undone =
    new Undoing(spark, checkpoint, Clock.systemUTC()).undo()
}
