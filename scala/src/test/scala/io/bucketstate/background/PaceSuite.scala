package io.bucketstate.background

import java.util.concurrent.{CompletableFuture, Semaphore, TimeUnit}

import org.scalacheck.{Gen, Shrink}
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks

import io.bucketstate.testkit.TidySuite

/** The pace of background work in a time of its own, in which nothing but work and rest happens. */
class PaceSuite extends TidySuite with ScalaCheckPropertyChecks {
  private val plan = PacePlan()
  private val Second = 1000000000L

  /** What is smaller than generated is no case any more. */
  private implicit def unshrunk[T]: Shrink[T] = Shrink.shrinkAny

  /** Time that passes only when somebody works or rests. */
  private class Simulated extends Ticker with Pause {
    var now = 0L
    var rested = 0L
    override def nanos: Long = now
    override def rest(nanos: Long): Unit = {
      now += nanos
      rested += nanos
    }
    override def wake(thread: Thread): Unit = ()
  }

  private val situations = for {
    isBusy <- Gen.oneOf(true, false)
    lag <- Gen.choose(0.0, 3.0)
    growth <- Gen.oneOf(Gen.const(0.0), Gen.choose(0.0, 100.0).map(_ / Second))
    work <- Gen.choose(0.0, 10.0 * Second)
  } yield PaceSituation(isBusy, lag, growth, work)

  test(
    "a share lies between the calm one and all, and is all when no task writes or the lag is large"
  ) {
    forAll(situations, minSuccessful(500)) { now =>
      val share = plan.share(now)
      assert(share >= plan.calm && share <= 1.0)
      if (!now.isBusy || now.lag >= plan.wantedLag) assert(share == 1.0)
      assert(plan.rest(1000, now) >= 0)
      assert((plan.rest(1000000, now) == 0) == (share > 0.999999), share)
    }
  }

  test("more lag, faster growth or more work never means a smaller share") {
    forAll(situations, Gen.choose(1.0, 3.0), minSuccessful(500)) { (now, factor) =>
      val share = plan.share(now)
      assert(plan.share(now.copy(lag = now.lag * factor)) >= share)
      assert(plan.share(now.copy(growth = now.growth * factor)) >= share)
      assert(plan.share(now.copy(workLeft = now.workLeft * factor)) >= share)
    }
  }

  /**
   * Works off so many records while versions keep coming.
   *
   * @param intervals between one snapshot that is due and the next, that the work takes without a rest
   * @return the lag at the end, and the share that the work took, but for the last slice of it: there is
   *         nothing to rest for behind that
   */
  private def simulate(intervals: Double, interval: Long, estimate: Double): (Double, Double) = {
    val time = new Simulated
    val growth = 1.0 / interval
    def lag = 1 + time.now * growth
    val records = 200000
    val each = math.max(1L, (intervals * interval / records).toLong)
    val pace = new Pace(plan, PaceSituation(isBusy = true, lag, growth, _), time, time)
    pace.begin((records * estimate).toLong)
    (1 to records).foreach { _ =>
      time.now += each
      pace.pass()
    }
    val worked = records.toDouble * each
    val last = math.min(worked, Pace.SliceNanos.toDouble)
    (lag, (worked - last) / (time.now - last))
  }

  test(
    "work that can be done in time is, spread over the time there is, also if there is less than said"
  ) {
    val work =
      Gen.zip(Gen.choose(0.01, 0.75), Gen.choose(Second / 5, 4 * Second), Gen.choose(1.0, 1.3))
    forAll(work, minSuccessful(500)) { case (intervals, interval, estimate) =>
      val (lag, share) = simulate(intervals, interval, estimate)
      assert(lag <= 2.0, (intervals, interval, estimate))
      // No faster than needed: at the calm share, or until shortly before the lag that is wanted.
      if (share > 1.2 * plan.calm * estimate)
        assert(lag > 1 + 0.6 * (plan.wantedLag - 1), (intervals, share))
    }
  }

  test(
    "work that cannot be done in time is done without a rest from when the lag is what was wanted"
  ) {
    val (lag, share) = simulate(3.0, Second, 1.0)
    assert(share > 0.95)
    assert(lag < 4.3)
  }

  test("without a task nothing rests; while one writes the share is kept") {
    for (isBusy <- Seq(true, false)) {
      val time = new Simulated
      val pace = new Pace(plan, PaceSituation(isBusy, 1.0, 0.0, _), time, time)
      pace.begin(100000)
      (1 to 100000).foreach { _ =>
        time.now += 1000
        pace.pass()
      }
      val share = (time.now - time.rested).toDouble / time.now
      assert(if (isBusy) math.abs(share - plan.calm) < 0.02 else time.rested == 0)
    }
  }

  test("who is hurried rests no more, and one that rests wakes up") {
    val asleep, woken = new Semaphore(0)
    object time extends Ticker with Pause {
      @volatile var now = 0L
      override def nanos: Long = now
      override def rest(nanos: Long): Unit = {
        asleep.release()
        woken.acquire()
      }
      override def wake(thread: Thread): Unit = woken.release()
    }
    val made = new CompletableFuture[Pace]
    val ended = CompletableFuture.runAsync { () =>
      val pace = new Pace(plan, PaceSituation(isBusy = true, 1.0, 0.0, _), time, time)
      made.complete(pace)
      pace.begin(1000000)
      (1 to 1000000).foreach { _ =>
        time.now += 1000
        pace.pass()
      }
    }
    asleep.acquire()
    made.get().hurry()
    ended.get(1, TimeUnit.MINUTES)
    assert(asleep.availablePermits == 0)
  }

  test("an interrupted thread ends its rests and works on") {
    var rests = 0
    val time = new Simulated {
      override def rest(nanos: Long): Unit = rests += 1 // as if woken at once, for the interrupt
    }
    val pace = new Pace(plan, PaceSituation(isBusy = true, 1.0, 0.0, _), time, time)
    Thread.currentThread().interrupt()
    try
      (1 to Pace.RecordsPerLook * 10).foreach { _ =>
        time.now += Pace.SliceNanos
        pace.pass()
      }
    finally assert(Thread.interrupted())
    assert(rests == 10)
  }
}
