package io.bucketstate.move.log

import io.bucketstate.checkpoint.io.Damage
import io.bucketstate.error.InvalidException

/** Reads what Spark itself keeps in a query's checkpoint. Nothing is kept: what is asked for twice is read twice. */
private[bucketstate] final class QueryLogs(val folder: QueryFolder) {

  def offsets: Seq[Long] = folder.numbers("offsets")

  def commits: Seq[Long] = folder.numbers("commits")

  def offset(batch: Long): OffsetEntry =
    OffsetEntry(batch, parsed(s"offsets/$batch", s"offset log of batch $batch"))

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
