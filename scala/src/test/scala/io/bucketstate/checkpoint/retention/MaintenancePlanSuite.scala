package io.bucketstate.checkpoint.retention

import java.time.{Duration, Instant}

import io.bucketstate.testkit.TidySuite

/** When the folder is listed to be cleaned up. */
class MaintenancePlanSuite extends TidySuite {
  private val start = Instant.parse("2024-01-01T00:00:00Z")
  private val hour = Duration.ofHours(1)
  private val plan = MaintenancePlan(minVersionsToDelete = 30, isUnloaded = false, hour)

  test("a new store is cleaned up at once") {
    assert(plan.isDue(0, start, None))
  }

  test("then when enough versions are stale, or enough time has gone by") {
    val last = Some(start -> 100L)
    assert(!plan.isDue(129, start, last))
    assert(plan.isDue(130, start, last))
    assert(!plan.isDue(101, start.plus(hour).minusNanos(1), last))
    assert(plan.isDue(101, start.plus(hour), last))
  }

  test("a clock that was set back does not put the next one off until it is where it was") {
    assert(plan.isDue(101, start.minus(Duration.ofDays(400)), Some(start -> 100L)))
  }

  test("a store that lives for one batch is cleaned up with every so-manieth version alone") {
    val unloaded = plan.copy(isUnloaded = true)
    assert((0L to 90L).filter(unloaded.isDue(_, start, None)) == Seq(0L, 30L, 60L, 90L))
    assert(unloaded.copy(minVersionsToDelete = 0).isDue(7, start, None))
  }

  test("none or less is every time") {
    assert(plan.copy(minVersionsToDelete = 0).isDue(5, start, Some(start -> 5L)))
  }
}
