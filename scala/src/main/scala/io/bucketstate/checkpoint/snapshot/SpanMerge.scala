package io.bucketstate.checkpoint.snapshot

import io.bucketstate.checkpoint.run.{Run, RunFile}

/**
 * Files of some runs that are to be merged, and what becomes of the runs then: the oldest of them has the result, the others
 * have those files no more. That is the same state, because who reads asks the runs from the newest on, and no run between
 * them has other files of the same buckets.
 *
 * @param merged  parts of these runs, newest first: all files that they have of some buckets
 * @param isWhole whether no older run has any of those buckets: then removals have nothing to hide
 */
private[snapshot] final case class SpanMerge(merged: Seq[Run], isWhole: Boolean) {
  val names: Set[String] = merged.iterator.flatMap(_.files).map(_.name).toSet

  def bytes: Long = merged.iterator.map(_.bytes).sum

  def entries: Long = merged.iterator.map(_.entries).sum

  /** Whether all that is to be merged is there. */
  def isIn(runs: Seq[Run]): Boolean =
    names.nonEmpty && names.subsetOf(runs.iterator.flatMap(_.files).map(_.name).toSet)

  /** The runs, newest first, with the result in place of what was merged, which must be there. */
  def appliedTo(runs: Seq[Run], result: Seq[RunFile]): Seq[Run] = {
    val oldest = runs.lastIndexWhere(has)
    val replaced = runs.zipWithIndex.map { case (run, i) =>
      if (!has(run)) run
      else {
        val left = run.files.filterNot(f => names(f.name))
        run.copy(files = if (i == oldest) left ++ result else left)
      }
    }
    Run.folded(replaced)
  }

  private def has(run: Run): Boolean = run.files.exists(f => names(f.name))
}
