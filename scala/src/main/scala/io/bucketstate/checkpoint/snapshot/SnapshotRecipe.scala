package io.bucketstate.checkpoint.snapshot

import io.bucketstate.checkpoint.run.{BucketCuts, Run, VersionSpan}

/**
 * What the next snapshot can be made of.
 *
 * @param version       that is to be snapshot
 * @param incomingBytes length of the changelogs since the manifest before
 * @param keys          that the state has at the version
 * @param base          version of the manifest before, 0 if there is none
 * @param older         its runs, newest first
 * @param hasMemory     whether the state at the version can be had from memory
 * @param doubtsFiles   whether memory is to be preferred to the files
 * @param cuts          where files are cut: a state that is cut at all is merged span by span
 */
final case class SnapshotMaterial(
    version: Long,
    incomingBytes: Long,
    keys: Long,
    base: Long,
    older: Seq[Run],
    hasMemory: Boolean,
    doubtsFiles: Boolean,
    cuts: BucketCuts = BucketCuts.None
)

/** Where the records of the new run come from. */
sealed trait RecordsFrom

object RecordsFrom {

  /** The state at the version. */
  case object Memory extends RecordsFrom

  /** The changelogs since the manifest before and, behind them, these runs, newest first. */
  final case class Files(merged: Seq[Run]) extends RecordsFrom
}

/** What a snapshot may leave to a [[Compaction]] beside it. */
sealed trait Beside

object Beside {

  /** Nothing: runs are merged as part of the snapshot. */
  case object Nothing extends Beside

  /** The merging of runs that there are. */
  case object Compaction extends Beside

  /** Nothing more: a compaction is under way already, and so many runs are newer than what it merges. */
  final case class UnderWay(newer: Int) extends Beside
}

/**
 * How a snapshot is made: one new run, in front of those that are kept.
 *
 * @param span    versions whose changes the new run holds
 * @param from    where its records come from
 * @param kept    runs that stay as they are, newest first
 * @param compact so many of the newest runs, the new one among them, are then to be merged beside it
 */
final case class SnapshotRecipe(
    span: VersionSpan,
    from: RecordsFrom,
    kept: Seq[Run],
    compact: Option[Int]
) {

  /** Whether nothing lies below the new run, so that it is the whole state. */
  def isWhole: Boolean = kept.isEmpty

  /** Whether the new run holds versions again that an older run had. */
  def rewrites: Boolean = from match {
    case RecordsFrom.Memory        => true
    case RecordsFrom.Files(merged) => isWhole || merged.nonEmpty
  }
}

object SnapshotRecipe {

  /** While a compaction is under way there may be so many times as many runs as else. */
  final val RunsWhileCompacting = 2

  /** @param beside what becomes of the merging that the plan asks for */
  def apply(
      material: SnapshotMaterial,
      maxRuns: Int,
      beside: Beside = Beside.Nothing
  ): SnapshotRecipe = {
    import material._
    val live = CompactionPlan.liveBytes(keys, older)
    def merging(newest: Int) = {
      val (merged, kept) = older.splitAt(newest)
      val first = merged.lastOption.fold(base + 1)(_.versions.first)
      SnapshotRecipe(VersionSpan(first, version), RecordsFrom.Files(merged), kept, None)
    }
    def append = merging(0)
    def rewrite = {
      val from = if (hasMemory) RecordsFrom.Memory else RecordsFrom.Files(older)
      SnapshotRecipe(VersionSpan(1L, version), from, Nil, None)
    }
    def planned = CompactionPlan(incomingBytes, older.map(_.bytes), live, maxRuns)
    // Compactions that do not keep up, or never come to their end, must not let the runs pile up.
    val isFull = older.size >= RunsWhileCompacting * maxRuns
    // What is not larger than its changes is soon written whole.
    if ((hasMemory && doubtsFiles) || older.isEmpty || incomingBytes >= live) rewrite
    else if (cuts.isDivided) append
    else
      beside match {
        case Beside.UnderWay(newer)       => if (isFull) merging(newer) else append
        case Beside.Compaction if !isFull =>
          planned match {
            case CompactionPlan.Append        => append
            case CompactionPlan.Merge(newest) => append.copy(compact = Some(newest + 1))
            case CompactionPlan.Rewrite       => append.copy(compact = Some(older.size + 1))
          }
        case _ =>
          planned match {
            case CompactionPlan.Append        => append
            case CompactionPlan.Merge(newest) => merging(newest)
            case CompactionPlan.Rewrite       => rewrite
          }
      }
  }
}
