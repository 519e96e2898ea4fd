package io.bucketstate.checkpoint.snapshot

import io.bucketstate.testkit.TidySuite

class SnapshotPlanSuite extends TidySuite {
  private val plan = SnapshotPlan(maxVersions = 10, maxBytes = 1000)
  private val quiet = SnapshotSituation(covered = 20, committed = 29, bytes = 999)

  test("by versions or by bytes, whichever comes first") {
    assert(!plan.isDue(quiet))
    assert(plan.isDue(quiet.copy(committed = 30)))
    assert(plan.isDue(quiet.copy(bytes = 1000)))
    assert(plan.isDue(quiet.copy(committed = 21, bytes = 5000)))
  }

  test("waits while one is running, whatever is asked for") {
    val busy = quiet.copy(committed = 50, bytes = 5000, running = true)
    assert(!plan.isDue(busy))
    assert(plan.isDue(busy.copy(running = false)))
  }

  test("nothing new is nothing to do") {
    assert(!plan.isDue(SnapshotSituation(7, 7, 5000)))
    assert(!plan.isDue(SnapshotSituation(7, 5, 5000)))
  }
}
