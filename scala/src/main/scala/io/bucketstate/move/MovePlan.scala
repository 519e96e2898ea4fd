package io.bucketstate.move

import java.time.Clock
import java.util.UUID

import scala.util.Try

import org.apache.spark.sql.SparkSession

import io.bucketstate.move.job.{Apart, Progress}
import io.bucketstate.move.log.LogText

/** What a move would do, and the way to make it. Reading it again and again finds what was so when it was planned. Thread-safe. */
final class MovePlan private[move] (spark: SparkSession, planned: PlannedMove, clock: Clock) {
  private[this] val progress = new Progress(spark.sparkContext)
  private[this] val tag = s"bucketstate-move-${UUID.randomUUID}"

  /** The batch whose state is moved: committed, and not necessarily the last. */
  def batch: Long = planned.batch

  /** The gravest first. */
  def findings: Seq[Finding] = planned.findings

  /** Whether nothing speaks against it. */
  def isPossible: Boolean = planned.isPossible

  /**
   * Reads all state, holds each key against its partition, and writes nothing. Blocks as long as that takes. Throws
   * `InvalidException` for state that cannot be moved so, and `CorruptException`, `MissingException` or
   * `UnavailableException` for what cannot be read.
   */
  def read(): MoveReport = cancellable(new Mover(spark, planned, progress, clock).read())

  /**
   * Makes the move, and publishes the target when all of it is there and was verified. Blocks as long as that takes. When it
   * throws, the target is no checkpoint that a query would start with; the same move begins again. An interrupt of the
   * calling thread gives it up as [[cancel]] does. Throws what [[read]] does, and `ConflictException` for a source that has
   * changed meanwhile, and a target that is not empty.
   */
  def run(): MoveReport = cancellable {
    // What is refused takes nothing of anybody else's back, either.
    planned.requirePossible()
    // What was left of a rewrite in place is taken back first: the plan is of the checkpoint without it.
    val current =
      if (Undoing.ofLeft(spark, planned, clock))
        new Planner(spark, planned.request, frame = None, clock).plan()
      else planned
    new Mover(spark, current, progress, clock).run()
  }

  /**
   * Gives up what another thread has begun with [[read]] or [[run]], which throws `UnavailableException` then; a checkpoint that
   * was to be rewritten in place is as it was. Only jobs of this plan are cancelled. A job that is about to begin may be missed:
   * call this again until they have ended.
   *
   * @return whether it was in time; false where the move was about to be committed, and comes to its end
   */
  def cancel(): Boolean = {
    val isInTime = progress.giveUp()
    if (isInTime) spark.sparkContext.cancelJobsWithTag(tag)
    isInTime
  }

  /**
   * Threads that are started on the way inherit the tag, and so do their jobs. One of them does it all: an interrupt of the
   * calls to files and jobs would leave jobs that go on, and keep what was begun from being taken back.
   */
  private def cancellable[A](body: => A): A = {
    progress.start()
    spark.sparkContext.addJobTag(tag)
    try Apart.waited("bucketstate-move", () => giveUp())(body)
    finally spark.sparkContext.removeJobTag(tag)
  }

  /** A session that has ended cancels nothing, and needs not: its jobs have ended with it. */
  private def giveUp(): Unit = {
    val _ = Try(cancel())
  }

  /** For people who wait: the step, and about how many keys and bytes it has come to, as JSON. From any thread. */
  def progressJson: String = {
    val counts = progress.counts
    LogText.Json
      .createObjectNode()
      .put("step", progress.step)
      .put("read", counts.read.value.toLong)
      .put("written", counts.written.value.toLong)
      .put("checked", counts.checked.value.toLong)
      .put("bytes", counts.bytes.value.toLong)
      .toString
  }

  /** The plan as JSON, for tools. */
  def json: String = planned.json

  /** The plan as a table for people. */
  override def toString: String = planned.toString
}
