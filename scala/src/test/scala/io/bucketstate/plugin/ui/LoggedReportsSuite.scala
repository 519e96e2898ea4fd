package io.bucketstate.plugin.ui

import io.bucketstate.config.MetricKey
import io.bucketstate.plugin.queries._
import io.bucketstate.plugin.status.{ExecutorStatus, StatusJson}
import io.bucketstate.testkit.TidySuite

/** What of the executors' reports goes into an event log. */
class LoggedReportsSuite extends TidySuite {
  private var now = 0L

  /** Nothing has ended. */
  private val runs: String => Boolean = _ => false

  test("one report of each executor in an interval, with what the pages show") {
    val logged = new LoggedReports(every = 100, () => now)
    val full = Boards.status(0)
    val status = Boards.executor(
      "1",
      full.copy(gauges = full.gauges + (MetricKey.MemoryLimit -> 5L))
    )
    assert(logged.due(status, runs).map(_.stores) == Some(Seq(full)))
    assert(logged.due(status, runs).isEmpty)
    assert(logged.due(status.copy(executor = "2"), runs).nonEmpty)
    now += 99
    assert(logged.due(status, runs).isEmpty)
    now += 1
    assert(logged.due(status, runs).nonEmpty)
    assert(logged.due(Boards.executor("3"), runs).isEmpty)
  }

  test("how a store stood that was closed is logged once") {
    val logged = new LoggedReports(every = 100, () => now)
    def told(version: Long) = logged.due(
      Boards.executor("1", Boards.status(0, version = version).closed),
      runs
    )
    assert(told(7).map(_.storeCount) == Some(0))
    now += 100
    assert(told(7).isEmpty && told(8).nonEmpty)
  }

  test("the last of a query, of each executor that told of it") {
    val board = new QueryBoard(Kept(1, 1))
    Seq("run", "another").foreach(run => board.began(run, "id", "name", "now"))
    board.told(Boards.executor("1", Boards.status(0), Boards.status(0, run = "another")))
    board.told(Boards.executor("2", Boards.status(1)))
    val last = new LoggedReports(every = 100, () => now).last(board.view, _.run == "run")
    assert(
      last.map(one => one.executor -> one.stores.map(_.label.run)) == Seq(
        "1" -> Seq("run"),
        "2" -> Seq("run")
      )
    )
    assert(last.forall(_.memoryLimit == (10L << 20)))
  }

  test("what of a run is told of after its end is logged once, beside what runs") {
    val logged = new LoggedReports(every = 100, () => now)
    def told(version: Long) = Boards.executor(
      "1",
      Boards.status(0, version = version),
      Boards.status(1, run = "another", version = version)
    )
    val all = logged.due(told(3), runs)
    assert(all.map(_.stores.size) == Some(2) && all.flatMap(_.loaded).isEmpty)
    assert(logged.due(told(3), _ == "run").isEmpty)
    val late = logged.due(told(4), _ == "run").toSeq
    assert(late.flatMap(_.stores).map(s => s.label.run -> s.version) == Seq("run" -> 4L))
    assert(late.map(_.storeCount) == Seq(2))
    assert(logged.due(told(4), _ == "run").isEmpty)
    // Where it was before.
    assert(logged.due(told(3).copy(executor = "2"), runs).nonEmpty)
    assert(logged.due(told(4), _ == "run").isEmpty)
  }

  test("the last of a query is what was not logged yet") {
    val board = new QueryBoard(Kept(1, 1))
    val logged = new LoggedReports(every = 100, () => now)
    board.began("run", "id", "name", "now")
    def tell(version: Long): Seq[ExecutorStatus] = {
      val status = Boards.executor("1", Boards.status(0), Boards.status(1, version = version))
      board.told(status)
      logged.due(status, runs).toSeq
    }
    assert(tell(7).size == 1 && logged.last(board.view, _ => true).isEmpty)
    assert(tell(8).isEmpty)
    def last = logged.last(board.view, _ => true).flatMap(_.stores).map(_.label.partition)
    assert(last == Seq(1))
    assert(last.isEmpty)
  }

  test("an executor that is logged in parts has all its stores") {
    val (board, replayed) = (new QueryBoard(Kept(1, 1)), new QueryBoard(Kept(1, 1)))
    for {
      run <- Seq("run", "another")
      each <- Seq(board, replayed)
    }
      each.began(run, s"id of $run", "name", "now")
    board.told(Boards.executor("1", Boards.status(0), Boards.status(0, run = "another")))
    board.told(Boards.executor("2", Boards.status(1), Boards.status(1, run = "another")))
    board.removed("2")
    replayed.removed("2")
    val logged = new LoggedReports(every = 100, () => now)
    for (run <- Seq("run", "another")) {
      val last = logged.last(board.view, _.run == run)
      assert(last.map(_.stores.size) == Seq(1, 1))
      last.map(one => StatusJson.readStatus(StatusJson.write(one))).foreach(replayed.toldByLog)
      assert(replayed.view.executors == board.view.executors)
    }
    assert(replayed.view.queries.map(_.stores.size) == Seq(2, 2))
  }

  test("an executor that is there no more is forgotten") {
    val logged = new LoggedReports(every = 100, () => now)
    val status = Boards.executor("1", Boards.status(0))
    assert(logged.due(status, runs).nonEmpty)
    assert(logged.due(status, runs).isEmpty)
    logged.removed("1")
    assert(logged.due(status, runs).nonEmpty)
  }

  test("nothing where it is turned off") {
    val logged = new LoggedReports(every = 0, () => now)
    assert(logged.due(Boards.executor("1", Boards.status(0)), runs).isEmpty)
    assert(
      logged
        .last(fail("nobody looks at it"), _ => true)
        .isEmpty
    )
  }
}
