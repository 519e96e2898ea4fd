package io.bucketstate.spark

import java.util.{Properties, UUID}

import scala.collection.mutable

import org.apache.spark.Success
import org.apache.spark.scheduler.{SparkListenerStageSubmitted, SparkListenerTaskEnd, StageInfo}
import org.apache.spark.sql.execution.streaming.state.QueryEnds

import io.bucketstate.testkit.TidySuite

class EndedRunsSuite extends TidySuite {
  private val first = UUID.fromString("00000000-0000-0000-0000-000000000001")
  private val second = UUID.fromString("00000000-0000-0000-0000-000000000002")

  private val forgotten = mutable.ArrayBuffer.empty[UUID]
  private val runs = new EndedRuns(run => forgotten += run)

  private def submitted(stage: Int, group: Option[String]): Unit = {
    val properties = new Properties
    group.foreach(properties.setProperty("spark.jobGroup.id", _))
    val info = new StageInfo(stage, 0, "stage", 1, Nil, Nil, "", resourceProfileId = 0)
    runs.onStageSubmitted(SparkListenerStageSubmitted(info, properties))
  }

  private def taskEnded(stage: Int): Unit =
    runs.onTaskEnd(SparkListenerTaskEnd(stage, 0, "ResultTask", Success, null, null, null))

  /** What the coordinator was asked to forget by `events`. */
  private def forgottenBy(events: => Unit): Seq[UUID] = {
    forgotten.clear()
    events
    forgotten.toSeq
  }

  test("the stores of a run are forgotten as it ends, and again with each task that ends later") {
    submitted(1, Some(first.toString))
    submitted(2, Some(second.toString))
    assert(forgottenBy(taskEnded(1)) == Nil, "it goes on")
    assert(forgottenBy(runs.onOtherEvent(QueryEnds.of(first))) == Seq(first))
    assert(forgottenBy { taskEnded(1); taskEnded(1) } == Seq(first, first))
    assert(forgottenBy(taskEnded(2)) == Nil, "another query goes on")
  }

  test("jobs of no query, and stages that nobody was told of, are nobody's") {
    runs.onOtherEvent(QueryEnds.of(first))
    submitted(3, None)
    submitted(4, Some("a group of the user's"))
    runs.onStageSubmitted(
      SparkListenerStageSubmitted(
        new StageInfo(5, 0, "stage", 1, Nil, Nil, "", resourceProfileId = 0),
        null
      )
    )
    assert(forgottenBy((3 to 6).foreach(taskEnded)) == Nil)
  }
}
