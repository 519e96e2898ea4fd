package io.bucketstate.checkpoint.recovery

import java.util.Arrays

import io.bucketstate.checkpoint.changelog.ChangelogBuckets
import io.bucketstate.checkpoint.records.Lookup
import io.bucketstate.checkpoint.run.{BucketSpan, Run, RunReaders}
import io.bucketstate.error.{CorruptException, MissingException}
import io.bucketstate.table.{BucketLoader, Record, RecordBuffer, RecordSink}

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

  override def find(family: Int, key: RecordBuffer): Array[Byte] = {
    val inLogs = changelogs.reverseIterator.map(_.find(family, key.bucket, key.sameKey))
    Lookup.combined(inLogs ++ Iterator.single(key).map(findInRuns(family, _))) match {
      case Lookup.Found(record) => record
      case _                    => null
    }
  }

  override def verify(family: Int, keys: Long): Unit =
    if (keys != keyCount(family)) throw miscounted(family, keys)

  private def findInRuns(family: Int, key: RecordBuffer): Lookup =
    if (runs.isEmpty) Lookup.Absent
    else {
      val record = key.toKeyRecord
      val bytes = Arrays.copyOfRange(record, Record.keyStart(record), record.length)
      noting(readers().get(runs, family, key.bucket, bytes))
    }

  private def loadRuns(span: BucketSpan, sink: RecordSink): Unit =
    if (runs.exists(_.files.exists(_.overlaps(span)))) noting {
      val cursor = readers().scan(runs, span, dropRemovals = true)
      try while (cursor.advance()) sink(cursor.record, cursor.op)
      finally cursor.close()
    }

  private def noting[A](read: => A): A =
    try read
    catch {
      case e @ (_: CorruptException | _: MissingException) =>
        onDamage()
        throw e
    }
}
