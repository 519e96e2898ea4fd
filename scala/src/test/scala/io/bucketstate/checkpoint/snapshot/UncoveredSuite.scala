package io.bucketstate.checkpoint.snapshot

import org.scalacheck.Gen
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks

import io.bucketstate.testkit.TidySuite

/** What lies behind the newest manifest, beside a list of all that happened. */
class UncoveredSuite extends TidySuite with ScalaCheckPropertyChecks {
  import UncoveredSuite._

  private val plan = SnapshotPlan(maxVersions = 10, maxBytes = 1000)

  test("what was replayed is uncovered, and what a manifest holds is not") {
    val uncovered = new Uncovered(plan)
    uncovered.begin(4, Seq(5L -> 100L, 6L -> 200L))
    assert(uncovered.opened(6, running = false) == SnapshotSituation(4, 6, 300))
    assert(uncovered.lag == 0.3 && uncovered.behind(6) == 2)
    uncovered.published(5)
    assert(uncovered.opened(6, running = true) == SnapshotSituation(5, 6, 200, running = true))
    uncovered.published(6)
    assert(uncovered.lag == 0 && uncovered.growth == 0 && uncovered.behind(5) == 0)
  }

  test("memory that goes back behind the manifest goes on from there") {
    val uncovered = new Uncovered(plan)
    uncovered.begin(6, Nil)
    assert(uncovered.opened(3, running = false) == SnapshotSituation(3, 3, 0))
    uncovered.committed(4, 50, now = 0)
    assert(uncovered.opened(4, running = false) == SnapshotSituation(3, 4, 50))
  }

  test("versions that come evenly let the lag grow as fast as they come") {
    val uncovered = new Uncovered(plan)
    uncovered.begin(0, Nil)
    (1L to 5L).foreach(v => uncovered.committed(v, 1, now = v * 1000))
    assert(math.abs(uncovered.growth - uncovered.lag / 5 / 1000) < 1e-12)
  }

  private val events = Gen.listOf(
    Gen.frequency(
      6 -> Gen.choose(0L, 500L).map(Commit(_)),
      2 -> Gen.choose(0, 4).map(Back(_)),
      2 -> Gen.choose(0, 4).map(Publish(_))
    )
  )

  test("whatever happens, the versions after the newest manifest count, and their bytes") {
    forAll(events) { happening =>
      val uncovered = new Uncovered(plan)
      uncovered.begin(0, Nil)
      var newest = 0L
      var manifest = 0L
      var lengths = Map.empty[Long, Long]
      happening.foreach {
        case Commit(bytes) =>
          newest += 1
          lengths += newest -> bytes
          uncovered.committed(newest, bytes, now = newest)
        case Back(by) =>
          newest = math.max(0L, newest - by)
          manifest = math.min(manifest, newest)
          lengths = lengths.filter(_._1 <= newest)
          uncovered.opened(newest, running = false)
        case Publish(behind) =>
          manifest = math.max(manifest, newest - behind)
          uncovered.published(manifest)
      }
      lengths = lengths.filter(_._1 > manifest)
      val found = uncovered.opened(newest, running = false)
      assert(found == SnapshotSituation(manifest, newest, lengths.values.sum))
      assert(uncovered.lag == plan.lag(lengths.size.toLong, found.bytes))
    }
  }
}

private object UncoveredSuite {
  sealed trait Event
  final case class Commit(bytes: Long) extends Event
  final case class Back(by: Int) extends Event
  final case class Publish(behind: Int) extends Event
}
