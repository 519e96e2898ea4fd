package io.bucketstate.plugin.queries

import io.bucketstate.testkit.TidySuite

/** What the tab knows of queries, from what Spark and executors tell. */
class QueryBoardSuite extends TidySuite {

  private def board(ended: Int = 3, batches: Int = 5): QueryBoard = {
    val made = new QueryBoard(Kept(ended, batches))
    made.began("run", "id", "counts", "now")
    made
  }

  test("the newest batches are kept, and the first of the run is known as a start") {
    val it = board()
    (10L to 12L).foreach(n => it.had("run", Boards.batch(n)))
    assert(
      it.view.queries.head.batches
        .map(b => b.id -> b.isFirst) == Seq(10L -> true, 11L -> false, 12L -> false)
    )
    // Told of twice.
    it.had("run", Boards.batch(12L))
    it.had("run", Boards.batch(10L))
    assert(it.view.queries.head.seen == 3)
    (13L to 20L).foreach(n => it.had("run", Boards.batch(n)))
    assert(it.view.queries.head.batches.map(_.id) == (16L to 20L))
    assert(it.view.queries.head.batches.forall(!_.isFirst))
    assert(it.view.queries.head.seen == 11)
  }

  test("the newest of each store is kept, wherever it is") {
    val it = board()
    it.told(Boards.executor("1", Boards.status(0, version = 3), Boards.status(1, version = 3)))
    it.told(Boards.executor("2", Boards.status(1, version = 5)))
    // It has it loaded still.
    it.told(Boards.executor("1", Boards.status(0, version = 4), Boards.status(1, version = 3)))
    val seen =
      it.view.queries.head.stores.map(s => (s.executor, s.status.label.partition, s.status.version))
    assert(seen == Seq(("1", 0, 4L), ("2", 1, 5L)))
    it.removed("1")
    assert(it.view.executors.map(e => e.executor -> e.isLost) == Seq("1" -> true, "2" -> false))
    assert(it.view.queries.head.stores.size == 2)
  }

  test("a report that comes after its executor was removed brings nothing back") {
    val it = board()
    it.told(Boards.executor("1", Boards.status(0, version = 3)))
    it.removed("1")
    val before = it.view
    it.told(Boards.executor("1", Boards.status(0, version = 4)))
    assert(it.view == before)
    val next = new QueryBoard(Kept(3, 5))
    next.restore(before)
    next.told(Boards.executor("1", Boards.status(0, version = 4)))
    assert(next.view == before)
  }

  test("no more than the last lost executors are kept, whatever they tell later") {
    val it = board()
    (1 to 60).foreach { n =>
      it.told(Boards.executor(n.toString))
      it.removed(n.toString)
    }
    (1 to 60).foreach(n => it.told(Boards.executor(n.toString)))
    assert(it.view.executors.map(_.executor) == (11 to 60).map(_.toString))
    assert(it.view.executors.forall(_.isLost))
  }

  test("of lost executors those are kept that were lost last") {
    val it = board()
    (1 to 60).foreach(n => it.told(Boards.executor(n.toString)))
    (60 to 1 by -1).foreach(n => it.removed(n.toString))
    assert(it.view.executors.map(_.executor) == (1 to 50).map(_.toString))
  }

  test("what a log has of an executor that was removed before is known, and it stays lost") {
    val it = board()
    it.removed("1")
    it.toldByLog(Boards.executor("1", Boards.status(0, version = 4)))
    assert(it.view.executors.map(e => e.executor -> e.isLost) == Seq("1" -> true))
    assert(it.view.queries.head.stores.map(_.status.version) == Seq(4L))
  }

  test("what ended is kept for a while, with the first line of why") {
    val it = board(ended = 2)
    it.ended("run", Some("it broke\n  at line 1"))
    assert(it.view.queries.head.end.contains(QueryEnd(Some("it broke"))))
    (1 to 4).foreach { n =>
      it.began(s"run $n", "id", "counts", "now")
      it.ended(s"run $n", None)
    }
    assert(it.view.queries.map(_.run) == Seq("run 3", "run 4"))
  }

  test("of runs that have ended those are kept that ended last, whenever they began") {
    val it = board(ended = 2)
    (1 to 4).foreach { n =>
      it.began(s"run $n", s"id $n", "counts", "now")
      it.ended(s"run $n", None)
    }
    it.ended("run", Some("it broke"))
    assert(it.view.queries.map(_.run) == Seq("run", "run 4"))
    assert(it.view.queries.head.end.contains(QueryEnd(Some("it broke"))))
    // Told of once more: its end is where it was.
    it.ended("run 4", None)
    it.began("run 5", "id 5", "counts", "now")
    it.ended("run 5", None)
    assert(it.view.queries.map(_.run) == Seq("run", "run 5"))
    assert(it.hasEnded("run") && !it.hasEnded("run 4"))
  }

  test("a run that begins ends those of the same query whose end was not told of") {
    val it = board(ended = 2)
    it.began("other", "another id", "sums", "now")
    (1 to 4).foreach(n => it.began(s"run $n", "id", "counts", "now"))
    val runs = it.view.queries.map(query => query.run -> query.end)
    val ended = Some(QueryEnd(None))
    assert(runs == Seq("other" -> None, "run 2" -> ended, "run 3" -> ended, "run 4" -> None))
    // Told of late.
    it.ended("run 3", Some("it broke"))
    assert(it.view.queries.map(_.run) == runs.map(_._1))
    assert(it.view.queries(2).end.contains(QueryEnd(Some("it broke"))))
  }

  test("what is told of runs that nobody knows leaves nothing behind") {
    val it = board()
    it.told(Boards.executor("1", Boards.status(0, run = "another")))
    it.had("another", Boards.batch(1))
    it.ended("another", None)
    it.removed("9")
    assert(it.view.queries.map(_.run) == Seq("run"))
    assert(it.view.queries.head.stores.isEmpty)
    assert(!it.view.queries.head.hasState)
  }

  test("what the history server keeps is what was shown") {
    val it = board()
    (0L to 9L).foreach(n => it.had("run", Boards.batch(n)))
    it.told(Boards.executor("1", Boards.status(0), Boards.status(1, name = "a <script> \" name")))
    it.ended("run", Some("<b>"))
    it.began("second", "id", "name", "later")
    it.removed("1")
    assert(BoardJson.read(BoardJson.write(it.view)) == it.view)
    assert(BoardJson.read(BoardJson.write(BoardView.Empty)) == BoardView.Empty)
    val next = new QueryBoard(Kept(3, 5))
    next.restore(it.view)
    assert(next.view == it.view)
  }

  test("a progress of Spark's is a batch, unless its trigger had none") {
    val progress =
      """{"id":"q","runId":"r","batchId":4,"timestamp":"t","durationMs":{"addBatch":7,"triggerExecution":9},
        |"eventTime":{"watermark":"w"},"stateOperators":[{"operatorName":"dedupe","numRowsTotal":5,
        |"customMetrics":{"bucketedChangelogBytes":0,"bucketedRuns":2}},{"operatorName":"other","customMetrics":{}}]}""".stripMargin
    val found = Batch.of(progress).get
    assert(found.id == 4 && found.isWatermarked && found.phases("addBatch") == 7)
    assert(found.operators.map(o => (o.name, o.isOurs)) == Seq("dedupe" -> true, "other" -> false))
    assert(found.operators.head("numRowsTotal") == 5 && found.operators.head("bucketedRuns") == 2)
    assert(Batch.of("""{"batchId":4,"durationMs":{"triggerExecution":9}}""").isEmpty)
  }
}
