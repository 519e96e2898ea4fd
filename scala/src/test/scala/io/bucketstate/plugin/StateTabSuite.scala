package io.bucketstate.plugin

import scala.collection.mutable

import org.apache.spark.scheduler.SparkListenerEvent

import io.bucketstate.plugin.queries.{Boards, Kept, QueryBoard}
import io.bucketstate.plugin.status.StatusJson
import io.bucketstate.plugin.ui.{LoggedReports, StateReport}
import io.bucketstate.testkit.{TidySuite, Warnings}

/** The tab State without Spark. */
class StateTabSuite extends TidySuite {
  private val posted = mutable.Buffer.empty[Seq[(String, Long)]]

  private def tab(board: QueryBoard)(post: SparkListenerEvent => Unit): StateTab =
    new StateTab(board, new LoggedReports(every = 100, () => 0L), post)

  /** Keeps runs and versions of what is logged. */
  private def keep(event: SparkListenerEvent): Unit = event match {
    case StateReport(text) =>
      posted += StatusJson.readStatus(text).stores.map(s => s.label.run -> s.version)
      ()
    case other => fail(s"$other")
  }

  test("the last of a query is logged whenever it is told of") {
    val board = new QueryBoard(Kept(3, 5))
    val it = tab(board)(keep)
    board.began("1", "id of 1", "name", "now")
    board.ended("1", None)
    it.ended("1")
    // All was committed between two reports, and the end was told of before the second.
    it.told(Boards.executor("a", Boards.status(0, run = "1", version = 1)))
    assert(posted == Seq(Seq("1" -> 1L)))
    board.began("2", "id of 2", "name", "now")
    val first = Boards.status(0, run = "1", version = 1)
    it.told(Boards.executor("a", first, Boards.status(0, run = "2", version = 1)))
    board.ended("2", None)
    it.ended("2")
    it.told(Boards.executor("a", first, Boards.status(0, run = "2", version = 2)))
    it.told(Boards.executor("a", first, Boards.status(0, run = "2", version = 2)))
    assert(posted.drop(1) == Seq(Seq("2" -> 1L), Seq("2" -> 2L)))
    it.end()
    assert(posted.size == 3)
  }

  test("the end of the application logs runs that ended before, and no executor that is gone") {
    val board = new QueryBoard(Kept(3, 5))
    val it = tab(board)(keep)
    board.began("3", "id of 3", "name", "now")
    it.told(Boards.executor("b", Boards.status(0, run = "3", version = 1)))
    it.told(Boards.executor("b", Boards.status(0, run = "3", version = 2)))
    board.ended("3", None)
    board.removed("c")
    it.told(Boards.executor("c", Boards.status(0, run = "3", version = 3)))
    val before = posted.size
    it.end()
    assert(posted.drop(before) == Seq(Seq("3" -> 2L)))
  }

  test(
    "as the application ends stores of this process are looked at once, before they are closed"
  ) {
    val board = new QueryBoard(Kept(3, 5))
    val it = tab(board)(keep)
    board.began("4", "id of 4", "name", "now")
    it.told(Boards.executor("driver", Boards.status(0, run = "4", version = 1)))
    val before = posted.size
    it.ending(Some(Boards.executor("driver", Boards.status(0, run = "4", version = 2))))
    it.ending(fail("they are closed"))
    it.end()
    assert(posted.drop(before) == Seq(Seq("4" -> 2L)))
    assert(board.view.executors.map(_.stores) == Seq(1))
  }

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
