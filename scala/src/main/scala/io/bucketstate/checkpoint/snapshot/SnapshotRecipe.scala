package io.bucketstate.checkpoint.snapshot

import io.bucketstate.checkpoint.run.{Run, VersionSpan}

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
 */
final case class SnapshotMaterial(
    version: Long,
    incomingBytes: Long,
    keys: Long,
    base: Long,
    older: Seq[Run],
    hasMemory: Boolean,
    doubtsFiles: Boolean
)

/** Where the records of the new run come from. */
sealed trait RecordsFrom

object RecordsFrom {

  /** The state at the version. */
  case object Memory extends RecordsFrom

  /** The changelogs since the manifest before and, behind them, these runs, newest first. */
  final case class Files(merged: Seq[Run]) extends RecordsFrom
}

/**
 * How a snapshot is made: one new run, in front of those that are kept.
 *
 * @param span  versions whose changes the new run holds
 * @param from  where its records come from
 * @param kept  runs that stay as they are, newest first
 */
final case class SnapshotRecipe(span: VersionSpan, from: RecordsFrom, kept: Seq[Run]) {

  /** Whether nothing lies below the new run, so that it is the whole state. */
  def isWhole: Boolean = kept.isEmpty

  /** Whether the new run holds versions again that an older run had. */
  def rewrites: Boolean = from match {
    case RecordsFrom.Memory        => true
    case RecordsFrom.Files(merged) => isWhole || merged.nonEmpty
  }
}

object SnapshotRecipe {

  /** @param full write the whole state as one run, whatever the plan says */
  def apply(material: SnapshotMaterial, maxRuns: Int, full: Boolean): SnapshotRecipe = {
    import material._
    val plan =
      if (full || (hasMemory && doubtsFiles)) CompactionPlan.Rewrite
      else {
        val live = CompactionPlan.liveBytes(keys, older)
        CompactionPlan(incomingBytes, older.map(_.bytes), live, maxRuns)
      }
    plan match {
      case CompactionPlan.Append =>
        SnapshotRecipe(VersionSpan(base + 1, version), RecordsFrom.Files(Nil), older)
      case CompactionPlan.Merge(newest) =>
        val (merged, kept) = older.splitAt(newest)
        val span = VersionSpan(merged.last.versions.first, version)
        SnapshotRecipe(span, RecordsFrom.Files(merged), kept)
      case CompactionPlan.Rewrite =>
        val from = if (hasMemory) RecordsFrom.Memory else RecordsFrom.Files(older)
        SnapshotRecipe(VersionSpan(1L, version), from, Nil)
    }
  }
}
