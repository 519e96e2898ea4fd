package io.bucketstate.plugin.ui

import org.apache.spark.ui.bucketstate.Asked
import org.slf4j.LoggerFactory

import io.bucketstate.plugin.queries.{Kept, QueryBoard}
import io.bucketstate.testkit.{TidySuite, Warnings}

/** What fails in the tab does not reach Spark's threads, and is said once. */
class GuardSuite extends TidySuite {
  private val log = LoggerFactory.getLogger("io.bucketstate.GuardSuite")

  for (failure <- Seq(new IllegalStateException("here"), new NoClassDefFoundError("here")))
    test(s"the first ${failure.getClass.getSimpleName} is a warning, and no failure") {
      val guard = new Guard(log, "It does not work")
      var last = 0
      val said = Warnings.during("io.bucketstate") {
        for (_ <- 1 to 3) guard(throw failure)
        last = guard.orElse(7)(throw failure)
      }
      assert(said == Seq("It does not work") && last == 7)
      assert(guard.orElse(7)(8) == 8)
    }

  test("what no process survives is thrown") {
    assertThrows[StackOverflowError](new Guard(log, "")(throw new StackOverflowError("here")))
  }

  test("events that cannot be read leave the listener alone, with one warning") {
    val listener = new QueryEvents(new QueryBoard(Kept(3, 5)), isLog = true)
    val said = Warnings.during("io.bucketstate") {
      Seq("{", "[").foreach(text => listener.onOtherEvent(StateReport(text)))
    }
    assert(said == Seq("The tab State lacks what some events told"))
  }

  test("a page that cannot be linked says so, with one warning") {
    val pages = StatePages.of(() => throw new NoClassDefFoundError("here"))
    val said = Warnings.during("io.bucketstate") {
      pages.foreach { page =>
        assert(page.content(Asked("", _ => None))._2.toString.contains("cannot be shown"))
      }
    }
    assert(said == Seq("A page of the tab State cannot be shown"))
  }
}
