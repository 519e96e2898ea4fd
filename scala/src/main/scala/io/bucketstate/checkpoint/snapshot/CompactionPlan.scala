package io.bucketstate.checkpoint.snapshot

import io.bucketstate.checkpoint.run.Run

/** How a snapshot's changes, "the incoming", become part of the runs. */
sealed trait CompactionPlan

/**
 * Size-tiered compaction. There are `maxRuns` runs at most, one of which is the incoming:
 *
 *  - ''append'' while there is room;
 *  - else ''merge'' the incoming with the newest runs: at least one, and on and on while the next run is
 *    not larger than all that is already being merged. So whenever a byte is rewritten by choice, the
 *    run it is in at least doubles: with `n` snapshots' worth of data a byte is rewritten about
 *    `log n` times, and no more than `w` times while `n < (maxRuns + w) over w` (8 runs: 45 snapshots
 *    for w = 2, 165 for w = 3, 495 for w = 4);
 *  - ''rewrite'' everything when that costs no more, because the live state is not larger than what
 *    would be merged (keys written again and again, or removed): then the result is the oldest run and
 *    has no tombstones.
 *
 * Done as part of a snapshot, what is merged is written once and not first by itself. Left to a
 * [[Compaction]] beside the snapshots, the incoming is written by itself, too: one small run more per
 * compaction, for snapshots that take as long as their changes and no longer.
 *
 * What it costs, at 1 M keys, 20 k updates a batch, a snapshot every 10 batches, 12 runs: a snapshot's
 * 200 k updates are of 181 k keys (1 M x (1 - exp(-0.2))). Eleven snapshots are appended to the base, with the
 * twelfth (12 x 181 k > 1 M) everything is rewritten: 11 x 181 k + 1 M = 2.99 M entries per 2.4 M updates,
 * 1.25 entries per update; and 1.32 with the twelfth by itself. With 115 bytes an entry and 120 bytes of
 * changelog an update that is 120 + 143 = 263 and 120 + 152 = 272 bytes per update. Merging the eleven
 * first would write another 0.9 M entries, 0.37 per update, to save a rewrite of 1 M entries every other
 * time, 0.21 per update.
 */
object CompactionPlan {

  /** The incoming becomes the newest run. */
  case object Append extends CompactionPlan

  /** The incoming and so many of the newest runs, at least one older being left, become one run. */
  final case class Merge(newest: Int) extends CompactionPlan

  /** All runs and the incoming become one, or the state at that version is written from memory. */
  case object Rewrite extends CompactionPlan

  /**
   * @param incoming about how many bytes the incoming takes as a run
   * @param runs     bytes of the runs there are, newest first
   * @param live     about how many bytes the whole state takes as one run
   */
  def apply(incoming: Long, runs: Seq[Long], live: Long, maxRuns: Int): CompactionPlan =
    if (runs.isEmpty || incoming >= live) Rewrite
    else if (runs.size < maxRuns) Append
    else {
      // Usually one; more when maxRuns was lowered.
      var count = math.max(1, runs.size + 1 - maxRuns)
      var merged = incoming + runs.take(count).sum
      while (count < runs.size && runs(count) <= merged) {
        merged += runs(count)
        count += 1
      }
      if (count == runs.size || merged >= live) Rewrite else Merge(count)
    }

  /** About what the live state would take as one run, judged by what its entries take now. */
  def liveBytes(keys: Long, runs: Seq[Run]): Long = {
    val entries = runs.iterator.map(_.entries).sum
    if (entries == 0) 0L else (runs.iterator.map(_.bytes).sum.toDouble / entries * keys).toLong
  }
}
