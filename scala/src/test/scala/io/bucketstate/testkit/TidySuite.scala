package io.bucketstate.testkit

import org.scalatest.concurrent.Eventually
import org.scalatest.funsuite.AnyFunSuite
import org.scalatest.time.{Millis, Seconds, Span}
import org.scalatest.{Outcome, Succeeded}

/**
 * Tests that leave nothing of this project's in their process. One that leaves a store open fails itself,
 * and not another one that counts what is left.
 */
abstract class TidySuite extends AnyFunSuite {

  /** Spark closes some stores in the background: how long a test's may be open after its end. */
  protected def closesWithin: Span = Span(20, Seconds)

  override protected def withFixture(test: NoArgTest): Outcome = {
    val before = LeftOvers.inProcess
    val outcome = super.withFixture(test)
    // What a failed test leaves would only hide why it failed.
    if (outcome == Succeeded) {
      Eventually.eventually(Eventually.timeout(closesWithin), TidySuite.Interval) {
        assert(LeftOvers.inProcess == before, "is not what there was before the test")
      }
    }
    outcome
  }
}

private object TidySuite {
  private val Interval = Eventually.interval(Span(10, Millis))
}
