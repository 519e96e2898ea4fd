package io.bucketstate

import org.apache.spark.sql.SparkSession

import io.bucketstate.move.{MovePlan, MoveRequest, Plans}

/**
 * Moves the checkpoints of stopped queries: into this provider and out of it, to other numbers of partitions and buckets, to
 * the other checkpoint format, without some keys, and with sources that begin anew. A source is never written to.
 */
object Checkpoints {

  /**
   * What a move would do. Reads metadata alone, and writes nothing.
   *
   * @param spark a session whose file systems reach both checkpoints; its jobs do the work
   */
  def plan(spark: SparkSession, request: MoveRequest): MovePlan = Plans.of(spark, request)

  /** A plan for callers that have JSON: see [[move.MoveRequest.of]]. */
  def plan(spark: SparkSession, json: String): MovePlan = plan(spark, MoveRequest.of(json))
}
