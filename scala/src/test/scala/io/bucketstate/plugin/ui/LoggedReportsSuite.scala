package io.bucketstate.plugin.ui

import io.bucketstate.config.MetricKey
import io.bucketstate.plugin.queries._
import io.bucketstate.testkit.TidySuite

/** What of the executors' reports goes into an event log. */
class LoggedReportsSuite extends TidySuite {
  private var now = 0L

  test("one report of each executor in an interval, with what the pages show") {
    val logged = new LoggedReports(every = 100, () => now)
    val full = Boards.status(0)
    val status = Boards.executor(
      "1",
      full.copy(gauges = full.gauges + (MetricKey.MemoryLimit -> 5L))
    )
    assert(logged.due(status).map(_.stores) == Some(Seq(full)))
    assert(logged.due(status).isEmpty)
    assert(logged.due(status.copy(executor = "2")).nonEmpty)
    now += 99
    assert(logged.due(status).isEmpty)
    now += 1
    assert(logged.due(status).nonEmpty)
    assert(logged.due(Boards.executor("3")).isEmpty)
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

  test("nothing where it is turned off") {
    val logged = new LoggedReports(every = 0, () => now)
    assert(logged.due(Boards.executor("1", Boards.status(0))).isEmpty)
    assert(
      logged
        .last(BoardView(Vector(Boards.query(Seq(Boards.store(0)))), Vector.empty), _ => true)
        .isEmpty
    )
  }
}
