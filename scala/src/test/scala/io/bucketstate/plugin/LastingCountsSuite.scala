package io.bucketstate.plugin

import java.util.concurrent.TimeUnit

import scala.collection.mutable

import org.scalacheck.Gen
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks

import io.bucketstate.plugin.status._
import io.bucketstate.testkit.TidySuite
import io.bucketstate.watch.OperatorLabel

/** What is shown of runs that have ended, for how long, and how another run of the name goes on from there. */
class LastingCountsSuite extends TidySuite with ScalaCheckPropertyChecks {
  import LastingCountsSuite._

  test("a failure that ends its run is shown for some minutes, also where it is told of late") {
    val board = new Board
    board.began("run", "rides")
    board.tell("1", "run" -> 0L)
    assert(board.lines.contains(failures("rides", 0)))
    assert(board.lines.exists(_.startsWith("bucketstate_keys{")))
    board.ended("run")
    assert(board.lines == Nil)
    assert(
      board.tell("1", "run" -> 2L) == KnownQueries(Map.empty, Set.empty, hasPartitions = false)
    )
    board.pass(LastingCounts.KeptNanos - 1)
    // How things stood is over: only what has happened is shown.
    assert(board.lines == Seq(failures("rides", 2)))
    board.pass(1)
    assert(board.lines == Nil)
    assert(board.tell("1", "run" -> 2L).ended == Set("run"))
    assert(board.lines == Nil)
  }

  test("a failure that ends its run is shown where executors tell seldom") {
    val seldom = LastingCounts.KeptNanos * 2
    val board = new Board(intervalMs = TimeUnit.NANOSECONDS.toMillis(seldom))
    board.began("run", "rides")
    board.tell("1", "run" -> 0L)
    board.ended("run")
    board.pass(seldom - 1)
    assert(board.lines == Nil)
    board.tell("1", "run" -> 1L)
    assert(board.lines == Seq(failures("rides", 1)))
    board.pass(seldom + 1)
    assert(board.lines == Nil)
  }

  test("a run that was never begun leaves nothing") {
    val board = new Board
    board.ended("run")
    assert(board.tell("1", "run" -> 2L).ended == Set("run"))
    assert(board.lines == Nil)
  }

  test("what an executor had counted stays where it is lost after the end") {
    val board = new Board
    board.began("run", "rides")
    board.ended("run")
    board.tell("1", "run" -> 2L)
    board.tell("2", "run" -> 1L)
    board.lost("1")
    assert(board.lines == Seq(failures("rides", 3)))
  }

  test("the failures under a name are never fewer than before, and none is counted twice") {
    val steps = Gen.oneOf(
      Gen.zip(Gen.const("fail"), Gen.choose(0L, 1L)),
      Gen.const("again" -> 0L),
      Gen.const("lose" -> 0L),
      Gen.zip(Gen.const("pass"), Gen.choose(1L, LastingCounts.KeptNanos * 2))
    )
    forAll(Gen.listOf(steps)) { steps =>
      val board = new Board
      var (run, lost, all) = (0, 0, 0L)
      val counted = mutable.Map.empty[(Long, String), Long].withDefaultValue(0L)
      board.began("run0", "rides")
      steps.foreach { case (step, n) =>
        step match {
          case "fail" =>
            counted((n, s"run$run")) += 1
            all += 1
          case "again" =>
            board.ended(s"run$run")
            run += 1
            board.began(s"run$run", "rides")
          case "lose" =>
            board.lost(s"0-$lost")
            lost += 1
            counted.filterInPlace((of, _) => of._1 != 0)
          case _ => board.pass(n)
        }
        for ((executor, name) <- Seq(0L -> s"0-$lost", 1L -> "1")) {
          val its = counted.toSeq.collect { case ((`executor`, run), failed) => run -> failed }
          val known = board.tell(name, its: _*)
          // As an executor does.
          counted.filterInPlace((of, _) => of._1 != executor || !known.ended(of._2))
        }
        val found = board.lines.filter(_.contains("storage"))
        assert(found == Seq(failures("rides", all)) || (all == 0 && found.isEmpty))
      }
    }
  }

  test(
    "what is counted under a name does not fall when another query of that name comes and goes"
  ) {
    val board = new Board
    board.began("ended", "rides", id = "1")
    board.tell("1", "ended" -> 10L)
    board.ended("ended")
    board.began("stays", "rides", id = "1")
    board.tell("1", "ended" -> 10L, "stays" -> 2L)
    def found = board.lines.filter(_.contains("storage"))
    assert(found == Seq(failures("rides", 12)))
    board.began("passing", "rides", id = "2")
    board.tell("1", "ended" -> 10L, "stays" -> 2L, "passing" -> 3L)
    assert(found.toSet == Set(failures("rides", 12), failures("rides (2)", 3)))
    board.pass(LastingCounts.KeptNanos)
    assert(found.toSet == Set(failures("rides", 12), failures("rides (2)", 3)))
    board.ended("passing")
    board.pass(LastingCounts.KeptNanos)
    assert(found == Seq(failures("rides", 12)))
  }

  test("two queries of one name that run one after the other have one series") {
    val board = new Board
    board.began("first", "rides", id = "1")
    board.tell("1", "first" -> 1L)
    board.ended("first")
    board.began("second", "rides", id = "2")
    assert(board.lines.filter(_.contains("storage")) == Seq(failures("rides", 1)))
    board.tell("1", "first" -> 1L, "second" -> 3L)
    assert(board.lines.filter(_.contains("storage")) == Seq(failures("rides", 4)))
    assert(board.lines.distinct == board.lines)
  }

  test("of many runs that end at once the last are shown") {
    val board = new Board
    val runs = (1 to LastingCounts.Most + 50).map(n => s"run$n")
    runs.foreach(run => board.began(run, run))
    val told = runs.map(_ -> 1L)
    board.tell("1", told: _*)
    runs.foreach(board.ended)
    assert(board.lines.toSet == runs.takeRight(LastingCounts.Most).map(failures(_, 1)).toSet)
    assert(board.tell("1", told: _*).ended == runs.take(50).toSet)
  }
}

private object LastingCountsSuite {
  def failures(query: String, count: Long): String =
    s"""bucketstate_failures_total{application="app",query="$query",operator="0",kind="storage"} $count"""

  /** A board with a clock, and what Prometheus sees of its queries. */
  final class Board(intervalMs: Long = 5000L) {
    import StatusSuite.{of, status}

    private[this] var now = 0L
    private[this] val board = new DriverBoard(() => now, "query", intervalMs)

    def pass(nanos: Long): Unit = now += nanos

    def began(run: String, name: String): Unit = began(run, name, id = s"id of $name")

    def began(run: String, name: String, id: String): Unit =
      board.began(RunningQuery(run, id, name))

    def ended(run: String): Unit = board.ended(run)

    def lost(executor: String): Unit = board.removed(executor)

    /** An executor tells how often each run has failed, and that it has a store of each. */
    def tell(executor: String, failed: (String, Long)*): KnownQueries =
      board.update(
        ExecutorStatus(
          executor,
          1000,
          2000,
          0,
          failed.map { case (run, _) => of(run, status(0, 1)) },
          failed.map { case (run, n) =>
            OperatorStatus.none(OperatorLabel(run, 0)).copy(failures = Map("storage" -> n))
          }
        )
      )

    def lines: Seq[String] =
      new PrometheusText("app")(board).linesIterator
        .filterNot(line => line.startsWith("#") || line.startsWith("bucketstate_executor_"))
        .toSeq
  }
}
