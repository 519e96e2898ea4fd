package io.bucketstate.checkpoint

import org.scalatest.funsuite.AnyFunSuite

class SnapshotPlanSuite extends AnyFunSuite {
  private val plan = SnapshotPlan(maxVersions = 10, maxBytes = 1000)
  private val quiet = SnapshotSituation(covered = 20, committed = 29, bytes = 999)

  test("fires by versions or by bytes, whichever comes first, and covers all that is committed") {
    assert(plan.next(quiet).isEmpty)
    assert(plan.next(quiet.copy(committed = 30)).contains(VersionSpan(21, 30)))
    assert(plan.next(quiet.copy(bytes = 1000)).contains(VersionSpan(21, 29)))
    assert(plan.next(quiet.copy(committed = 57)).contains(VersionSpan(21, 57)))
  }

  test("waits while one is running, whatever is asked for, and then serves all requests at once") {
    val busy = quiet.copy(committed = 50, bytes = 5000, running = true, forced = Some(40))
    assert(plan.next(busy).isEmpty)
    assert(plan.next(busy.copy(running = false)).contains(VersionSpan(21, 50)))
  }

  test("a forced version is taken as soon as it is committed, and once") {
    assert(plan.next(quiet.copy(forced = Some(30))).isEmpty)
    assert(plan.next(quiet.copy(forced = Some(29))).contains(VersionSpan(21, 29)))
    assert(plan.next(quiet.copy(forced = Some(20))).isEmpty)
  }

  test("nothing new is nothing to do") {
    assert(plan.next(SnapshotSituation(7, 7, 5000, forced = Some(7))).isEmpty)
    assert(plan.next(SnapshotSituation(7, 5, 5000)).isEmpty)
  }
}
