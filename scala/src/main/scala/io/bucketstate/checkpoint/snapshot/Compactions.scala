package io.bucketstate.checkpoint.snapshot

import io.bucketstate.background.WorkGate
import io.bucketstate.checkpoint.manifest.{Checkpoint, KeysAt, Manifest}
import io.bucketstate.checkpoint.run.{BucketCuts, Run}
import io.bucketstate.error.BucketstateException

/**
 * How a snapshot is made, and what becomes of the older runs.
 *
 * @param cuts   of the files that it writes
 * @param keys   of each family at its version, about
 * @param beside what it may leave to a compaction
 */
private[snapshot] final case class PlannedSnapshot(
    recipe: SnapshotRecipe,
    cuts: BucketCuts,
    keys: Map[Int, Long],
    beside: Beside
)

/**
 * The compactions of one store that are under way, or whose results no manifest names yet: one beside the snapshots, and
 * what a snapshot merges itself. `inFlight` and `cancel` are for any thread, all else for one at a time.
 *
 * @param maxRuns       before some are merged
 * @param maxMergeBytes about the most bytes that are merged at a time
 * @param onDamage      told when a compaction beside the snapshots found a file of its manifest damaged or gone
 */
private[snapshot] final class Compactions(
    checkpoint: Checkpoint,
    maxRuns: Int,
    maxMergeBytes: Long,
    onDamage: (Manifest, BucketstateException) => Unit
) {
  @volatile private[this] var held = Vector.empty[Compaction]
  @volatile private[this] var cancelled = false

  /** Data files that they have made or are making, each before it is there. */
  def inFlight: Set[String] = held.iterator.flatMap(_.inFlight).toSet

  /** Lets those under way, and all later ones, fail with `CancellationException`. */
  def cancel(): Unit = {
    cancelled = true
    held.foreach(_.cancel())
  }

  /**
   * A snapshot on top of these runs, newest first, begins: gives them with all results that are there in place of what
   * was merged, and without runs that have no files.
   */
  def begin(all: Seq[Run]): Seq[Run] = {
    retain(all)
    appliedTo(all)
  }

  /** What may be merged of these runs beside the snapshot. */
  def mayBegin(older: Seq[Run]): Beside = {
    val merging = busy(older)
    if (merging.isEmpty) Beside.Compaction
    else Beside.UnderWay(older.indexWhere(_.files.exists(f => merging(f.name))))
  }

  /** Merges spans that cannot be left to a compaction; returns the bytes written, and the recipe over the result. */
  def inside(
      base: Option[Manifest],
      planned: PlannedSnapshot,
      gate: WorkGate
  ): (Long, SnapshotRecipe) = {
    val kept = planned.recipe.kept
    val (limit, spared) = planned.beside match {
      case Beside.Nothing => (maxRuns, Set.empty[String])
      case _              => (SnapshotRecipe.RunsWhileCompacting * maxRuns, busy(kept))
    }
    // The new run comes on top.
    val merges = SpanPlan(spansOf(kept, planned), limit, math.max(1, maxRuns - 1), busy = spared)
    // What it finds is what the snapshot fails with.
    val made = base.flatMap(m => compactionOf(m.copy(runs = kept), merges, planned.cuts, _ => ()))
    val written = made.fold(0L)(_.run(gate))
    (written, planned.recipe.copy(kept = appliedTo(kept)))
  }

  /** The manifest was written: what is left to be merged beside the next snapshots. */
  def beside(manifest: Manifest, planned: PlannedSnapshot): Option[Compaction] = {
    retain(manifest.runs)
    if (planned.beside != Beside.Compaction) None
    else {
      val whole = planned.recipe.compact.map { count =>
        SpanMerge(manifest.runs.take(count), isWhole = count == manifest.runs.size)
      }
      val atMost = math.max(maxMergeBytes, SpanPlan.MostPerByte * manifest.runs.head.bytes)
      val spans = SpanPlan(spansOf(manifest.runs, planned), maxRuns + 1, maxRuns, atMost)
      compactionOf(manifest, whole.toSeq ++ spans, planned.cuts, onDamage(manifest, _))
    }
  }

  /** The newest count of a family's keys among those of which results are there that are of use. */
  def counted(family: Int): Option[KeysAt] =
    held.iterator.flatMap(_.counted.get(family)).maxByOption(_.version)

  /** Those files of these runs that are being merged. */
  def busy(all: Seq[Run]): Set[String] = held.iterator.flatMap(_.busy(all)).toSet

  /** A manifest that names these runs is about to be written. */
  def offer(all: Seq[Run]): Unit = held.foreach(_.offer(all))

  /** Gives up all. */
  def discard(): Unit = retain(Nil)

  private def appliedTo(all: Seq[Run]): Seq[Run] =
    Run.folded(held.foldLeft(all)((runs, compaction) => compaction.appliedTo(runs)))

  /** Gives up those that can change nothing in these runs any more. */
  private def retain(all: Seq[Run]): Unit = {
    val (wanted, others) = held.partition(_.isWanted(all))
    held = wanted
    others.foreach(_.discard())
  }

  /** None where the state is not cut, and all is merged by its runs. */
  private def spansOf(runs: Seq[Run], planned: PlannedSnapshot): Seq[StateSpan] =
    if (!planned.cuts.isDivided) Nil
    else StateSpan.of(runs, planned.cuts, new LiveBytes(planned.keys, runs))

  private def compactionOf(
      manifest: Manifest,
      merges: Seq[SpanMerge],
      cuts: BucketCuts,
      onDamage: BucketstateException => Unit
  ): Option[Compaction] =
    Option.when(merges.exists(_.names.nonEmpty)) {
      val made = new Compaction(checkpoint, manifest, merges, cuts, onDamage)
      held :+= made
      if (cancelled) made.cancel()
      made
    }
}
