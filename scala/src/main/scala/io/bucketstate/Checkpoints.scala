package io.bucketstate

import org.apache.spark.sql.{DataFrame, SparkSession}

import io.bucketstate.move.{MovePlan, MoveRequest, Plans, Undone}

/**
 * Moves the checkpoints of stopped queries: into this provider and out of it, to other numbers of partitions and buckets, to
 * the other checkpoint format, without some keys, with others for them, and with sources that begin anew. A source is never
 * written to, but for a rewrite that is asked for in place.
 */
object Checkpoints {

  /**
   * What a move would do. Reads metadata alone, and writes nothing.
   *
   * @param spark a session whose file systems reach both checkpoints; its jobs do the work
   */
  def plan(spark: SparkSession, request: MoveRequest): MovePlan = Plans.of(spark, request)

  /**
   * What a move would do that puts rows into a state.
   *
   * @param rows one for each key: the columns of the key and of the value, by their names
   */
  def plan(spark: SparkSession, request: MoveRequest, rows: DataFrame): MovePlan =
    Plans.of(spark, request, Some(rows))

  /** A plan for callers that have JSON: see [[move.MoveRequest.of]]. */
  def plan(spark: SparkSession, json: String): MovePlan = plan(spark, MoveRequest.of(json))

  /** A plan of a move that puts rows into a state. */
  def plan(spark: SparkSession, json: String, rows: DataFrame): MovePlan =
    plan(spark, MoveRequest.of(json), rows)

  /**
   * The columns of the keys that an upsert's rows are for, as a JSON array of their names. Reads metadata alone. Throws
   * `InvalidException` where the operator cannot take rows, or is not said.
   */
  def keyColumns(spark: SparkSession, json: String): String =
    Plans.keyColumns(spark, MoveRequest.of(json))

  /**
   * Undoes a rewrite in place, finished or not, as long as no query has gone on with it. What was stopped half-way is finished
   * by the same call. Blocks as long as that takes. Throws `InvalidException` where there is none, or a query has gone on;
   * `MissingException`, `CorruptException` or `UnavailableException` for what cannot be read or deleted.
   */
  def undo(spark: SparkSession, checkpoint: String): Undone = Plans.undo(spark, checkpoint)
}
