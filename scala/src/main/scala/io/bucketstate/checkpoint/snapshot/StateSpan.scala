package io.bucketstate.checkpoint.snapshot

import scala.collection.mutable.ArrayBuffer

import io.bucketstate.checkpoint.run.{BucketCuts, Run, RunFile}

/**
 * What all runs have in some consecutive buckets, none of whose files reaches out of them: it can be merged without the
 * rest.
 *
 * @param levels the runs that have files there, newest first, with those files alone
 * @param live   about how many bytes its live state takes as one run
 */
private[snapshot] final case class StateSpan(levels: Seq[Run], live: Long) {
  def depth: Int = levels.size
}

private[snapshot] object StateSpan {

  /**
   * The spans of these runs, newest first. Files that were not cut there, because the state was smaller then, make one of
   * several.
   */
  def of(runs: Seq[Run], cuts: BucketCuts, live: LiveBytes): Seq[StateSpan] = {
    val spans = grouped(runs, cuts).map(levelsOf(runs, _))
    val oldest = live.byFamily.keys.map(f => f -> spans.iterator.map(oldestBytes(_, f, live)).sum)
    spans.map { levels =>
      // Older levels are of about the same age in all spans.
      val bytes = oldest.iterator.map { case (family, all) =>
        if (all == 0) 0.0
        else live.byFamily(family) * oldestBytes(levels, family, live) / all
      }
      StateSpan(levels, bytes.sum.toLong)
    }
  }

  private def oldestBytes(levels: Seq[Run], family: Int, live: LiveBytes): Double =
    levels.last.files.iterator.map(live.bytesOf(_, family)).sum

  /** The files with the numbers of their runs; those of one group share spans with those of no other one. */
  private def grouped(runs: Seq[Run], cuts: BucketCuts): Seq[Seq[(RunFile, Int)]] = {
    val files = runs.iterator.zipWithIndex.flatMap { case (run, i) => run.files.map(_ -> i) }
    val sorted = files.map { case (file, i) => (cuts.spansOf(file), file, i) }.toSeq.sortBy(_._1)
    val groups = ArrayBuffer.empty[ArrayBuffer[(RunFile, Int)]]
    var last = -1L // span of the group
    sorted.foreach { case ((from, to), file, i) =>
      if (from > last) groups += ArrayBuffer.empty
      groups.last += file -> i
      last = math.max(last, to)
    }
    groups.iterator.map(_.toSeq).toSeq
  }

  private def levelsOf(runs: Seq[Run], files: Seq[(RunFile, Int)]): Seq[Run] =
    files.groupMap(_._2)(_._1).toSeq.sortBy(_._1).map { case (i, own) =>
      runs(i).copy(files = own)
    }
}
