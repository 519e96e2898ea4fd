package io.bucketstate.plugin

import org.apache.spark.scheduler.SparkListenerEvent

import io.bucketstate.plugin.queries.{Boards, Kept, QueryBoard}
import io.bucketstate.plugin.ui.LoggedReports
import io.bucketstate.testkit.{TidySuite, Warnings}

/** The tab State without Spark. */
class StateTabSuite extends TidySuite {
  private def tab(board: QueryBoard)(post: SparkListenerEvent => Unit): StateTab =
    new StateTab(board, new LoggedReports(every = 100, () => 0L), post)

  test("what cannot be linked leaves Spark's threads alone, with one warning") {
    val board = new QueryBoard(Kept(3, 5))
    board.began("run", "id", "name", "now")
    val broken = tab(board)(_ => throw new NoClassDefFoundError("here"))
    val said = Warnings.during("io.bucketstate") {
      broken.told(Boards.executor("1", Boards.status(0)))
      board.told(Boards.executor("1", Boards.status(0, version = 8)))
      broken.ended("run")
    }
    assert(said == Seq("The tab State lacks what executors told"))
  }
}
