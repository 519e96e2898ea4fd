package io.bucketstate.move.log

import io.bucketstate.checkpoint.io.Damage
import io.bucketstate.error.InvalidException

/** Reads what Spark itself keeps in a query's checkpoint. Nothing is kept: what is asked for twice is read twice. */
private[bucketstate] final class QueryLogs(val folder: QueryFolder) {

  def offsets: Seq[Long] = folder.numbers("offsets")

  def commits: Seq[Long] = folder.numbers("commits")

  def offset(batch: Long): OffsetEntry =
    OffsetEntry(batch, parsed(s"offsets/$batch", s"offset log of batch $batch"))

  /**
   * Whether a batch was planned in another number of partitions than the one before: then it is no batch of the query's, but
   * a rewrite in place, or a repartition of Spark's.
   */
  def changesPartitions(batch: Long): Boolean = {
    val planned = offsets
    planned.contains(batch) && planned.contains(batch - 1) && {
      val both = Seq(batch - 1, batch).flatMap(offset(_).partitions)
      both.size == 2 && both.distinct.size == 2
    }
  }

  /**
   * A batch that was planned in another number of partitions than the one before, and not committed: a rewrite in place, or a
   * repartition of Spark's, that was begun. No query runs it.
   */
  def abandoned: Option[Abandoned] = {
    val (planned, committed) = (offsets, commits)
    planned.lastOption
      .filter(batch => committed.lastOption.exists(_ < batch) && changesPartitions(batch))
      .map { batch =>
        val entry = offset(batch)
        // Spark's commits batches that have failed, so that its own, a copy of the last good one, comes after them.
        val copied = planned.init.reverseIterator.find(n => entry.isCopyOf(offset(n)))
        Abandoned(batch, copied.fold(Set.empty[Long])(n => committed.filter(_ > n).toSet))
      }
  }

  /** Batches that have finished: without those that were committed to be skipped, which run again. */
  def finished: Seq[Long] = commits.filterNot(abandoned.fold(Set.empty[Long])(_.skipped))

  def commit(batch: Long): CommitEntry =
    CommitEntry(batch, parsed(s"commits/$batch", s"commit log of batch $batch"))

  def operators: Seq[Long] = folder.folders("state").flatMap(QueryFolder.number).sorted

  /** What Spark had recorded of an operator when a batch was planned. */
  def operator(id: Long, batch: Long): OperatorEntry = {
    val inside = s"state/$id/_metadata"
    val newest = folder.numbers(s"$inside/v2").filter(_ <= batch).lastOption
    val file = newest.fold(s"$inside/metadata")(n => s"$inside/v2/$n")
    if (newest.isEmpty && !folder.exists(file)) {
      throw new InvalidException(
        s"${folder.location} has no metadata of operator $id at batch $batch",
        "Spark writes them since version 3.5: run the query for a batch with a newer Spark first, and stop it."
      )
    }
    val what = s"metadata of operator $id"
    OperatorEntry.of(file, parsed(file, what), damage(file, what))
  }

  private def parsed(file: String, what: String): LogText =
    LogText.parse(folder.read(file), damage(file, what))

  private def damage(file: String, what: String) = new Damage(folder.locationOf(file), what)
}

/**
 * A batch of the offset log that no query runs.
 *
 * @param skipped batches that were committed for it, though they had failed
 */
private[bucketstate] final case class Abandoned(batch: Long, skipped: Set[Long])
