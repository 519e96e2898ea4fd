package io.bucketstate.checkpoint.snapshot

import scala.util.Random

import io.bucketstate.testkit.TidySuite

/** Carries the plan out on sets of keys, which merge as files do, and counts what is written. */
class CompactionPlanSuite extends TidySuite {
  import CompactionPlan._

  /** Keys as bits, so that merging is exact and fast; a removal is a key like any other until the end. */
  private final class Keys(val words: Array[Long]) {
    lazy val size: Int = words.iterator.map(w => java.lang.Long.bitCount(w)).sum
    def ++(other: Keys): Keys = new Keys(
      Array.tabulate(words.length)(i => words(i) | other.words(i))
    )
  }

  private def updated(random: Random, keys: Int, updates: Int): Keys = {
    val words = new Array[Long]((keys + 63) / 64)
    for (_ <- 1 to updates) {
      val key = random.nextInt(keys)
      words(key >> 6) |= 1L << key
    }
    new Keys(words)
  }

  private final class Simulation(maxRuns: Int, entryBytes: Long) {
    var runs: List[Keys] = Nil
    var written = 0L
    var rewrites = 0
    var merges = 0
    var largest = 0L

    private def bytes(keys: Keys): Long = keys.size * entryBytes

    def snapshot(incoming: Keys, live: Keys): Unit = {
      val plan = CompactionPlan(bytes(incoming), runs.map(bytes), bytes(live), maxRuns)
      val (run, left) = plan match {
        case Append   => (incoming, runs)
        case Merge(n) =>
          merges += 1
          assert(n < runs.size)
          (runs.take(n).foldLeft(incoming)(_ ++ _), runs.drop(n))
        case Rewrite =>
          rewrites += 1
          (live, Nil)
      }
      written += bytes(run)
      runs = run :: left
      largest = math.max(largest, runs.map(bytes).sum)
      assert(runs.size <= maxRuns)
    }
  }

  /** Bytes of runs written per update, in a store of that many keys that is there from the start. */
  private def perUpdate(
      keys: Int,
      perSnapshot: Int,
      snapshots: Int,
      maxRuns: Int
  ): (Double, Simulation) = {
    val random = new Random(7)
    val live = new Keys(Array.fill((keys + 63) / 64)(-1L))
    val simulation = new Simulation(maxRuns, entryBytes = 115)
    simulation.snapshot(live, live)
    simulation.written = 0
    for (_ <- 1 to snapshots) simulation.snapshot(updated(random, keys, perSnapshot), live)
    (simulation.written.toDouble / (snapshots.toLong * perSnapshot), simulation)
  }

  test("1 M keys, 20 k updates a batch, a snapshot every 10: at most 296 bytes per update in all") {
    val changelog = 120
    val (short, s) = perUpdate(1_000_000, 200_000, 20, maxRuns = 8)
    info(
      f"200 batches: $changelog + $short%.0f bytes per update, ${s.rewrites} rewrites, ${s.merges} merges"
    )
    assert(changelog + short <= 296)
    val (long, l) = perUpdate(1_000_000, 200_000, 200, maxRuns = 8)
    info(
      f"2000 batches: $changelog + $long%.0f bytes per update, ${l.rewrites} rewrites, ${l.merges} merges"
    )
    assert(changelog + long <= 296)
    assert(l.largest <= 3L * 1_000_000 * 115, "space")
  }

  test("200 snapshots over 1 M keys, updated evenly: written per byte of change") {
    for ((perSnapshot, bound) <- Seq(200_000 -> 1.5, 50_000 -> 2.8, 10_000 -> 4.0, 2_000 -> 4.5)) {
      val (bytes, s) = perUpdate(1_000_000, perSnapshot, 200, maxRuns = 8)
      val factor = bytes / 115
      info(
        f"$perSnapshot updates: $factor%.2f, ${s.rewrites} rewrites, ${s.merges} merges, space ${s.largest / 115e6}%.2f"
      )
      assert(factor <= bound)
    }
  }

  test("a state that only grows is rewritten about as often as the logarithm of its snapshots") {
    for ((snapshots, bound) <- Seq(44 -> 2.0, 164 -> 3.0, 494 -> 4.0, 1286 -> 5.0)) {
      var runs: List[Long] = Nil
      var written = 0L
      var live = 0L
      for (_ <- 1 to snapshots) {
        live += 1000
        val run = CompactionPlan(1000, runs, live, maxRuns = 8) match {
          case Append   => 1000L
          case Merge(n) => 1000 + runs.take(n).sum
          case Rewrite  => live
        }
        runs = CompactionPlan(1000, runs, live, maxRuns = 8) match {
          case Append   => run :: runs
          case Merge(n) => run :: runs.drop(n)
          case Rewrite  => List(run)
        }
        written += run
      }
      info(f"$snapshots snapshots: ${written / (1000.0 * snapshots)}%.2f")
      assert(written <= bound * 1000 * snapshots)
    }
  }

  test("random sizes: never more runs than allowed, and a merge never takes all") {
    val random = new Random(11)
    for (_ <- 1 to 2000) {
      val runs = Seq.fill(random.nextInt(14))(random.nextInt(1000).toLong)
      val maxRuns = 1 + random.nextInt(10)
      CompactionPlan(random.nextInt(100).toLong, runs, random.nextInt(3000).toLong, maxRuns) match {
        case Append   => assert(runs.size + 1 <= maxRuns)
        case Merge(n) => assert(n >= 1 && n < runs.size && runs.size - n + 1 <= maxRuns)
        case Rewrite  => ()
      }
    }
  }

  test("a state that shrank, or is written over and over, is rewritten rather than added to") {
    assert(CompactionPlan(incoming = 10, Seq(1000), live = 10, maxRuns = 8) == Rewrite)
    assert(CompactionPlan(incoming = 10, Nil, live = 500, maxRuns = 8) == Rewrite)
    assert(CompactionPlan(incoming = 10, Seq(10, 1000), live = 1000, maxRuns = 8) == Append)
    assert(CompactionPlan(incoming = 10, Seq(10, 1000), live = 1000, maxRuns = 2) == Merge(1))
    assert(
      CompactionPlan(incoming = 10, Seq(10, 10, 40, 1000), live = 1000, maxRuns = 4) == Merge(2)
    )
  }
}
