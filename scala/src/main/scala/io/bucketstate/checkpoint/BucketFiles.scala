package io.bucketstate.checkpoint

import io.bucketstate.error.{CorruptException, MissingException}
import io.bucketstate.table.{BucketLoader, RecordSink}

/**
 * A version's buckets as the files have them: the runs of a manifest, and the changelogs after it. A
 * bucket costs its span of the runs and its blocks of the changelogs, however large the rest is.
 *
 * @param counts     keys of each family at the version
 * @param readers    opens the runs, when one is first needed
 * @param runs       newest first
 * @param changelogs oldest first
 * @param onDamage   is told when a run turns out to be damaged or gone
 * @param miscounted the error for a family whose buckets hold another number of keys than `counts` says
 */
private[checkpoint] final class BucketFiles(
    counts: Map[Int, Long],
    readers: () => RunReaders,
    runs: Seq[Run],
    changelogs: Seq[ChangelogBuckets],
    onDamage: () => Unit,
    miscounted: (Int, Long) => CorruptException
) extends BucketLoader {

  override def keyCount(family: Int): Long = counts.getOrElse(family, 0L)

  override def load(family: Int, bucket: Int, sink: RecordSink): Unit = {
    loadRuns(BucketSpan(family, bucket, bucket), sink)
    changelogs.foreach(_.read(family, bucket, sink))
  }

  override def verify(family: Int, keys: Long): Unit =
    if (keys != keyCount(family)) throw miscounted(family, keys)

  private def loadRuns(span: BucketSpan, sink: RecordSink): Unit =
    if (runs.exists(_.files.exists(_.overlaps(span)))) {
      try {
        val cursor = readers().scan(runs, span, dropRemovals = true)
        try while (cursor.advance()) sink(cursor.record, isRemoval = false)
        finally cursor.close()
      } catch {
        case e @ (_: CorruptException | _: MissingException) =>
          onDamage()
          throw e
      }
    }
}
