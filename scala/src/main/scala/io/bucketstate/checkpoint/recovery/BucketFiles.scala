package io.bucketstate.checkpoint.recovery

import java.util.Arrays
import java.util.concurrent.atomic.AtomicInteger

import io.bucketstate.checkpoint.changelog.ChangelogTail
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
 * @param tail       the changelogs after the runs
 * @param onDamage   is told when a run, or what runs and changelogs come to, turns out to be wrong or gone
 * @param miscounted the error for a family whose buckets hold another number of keys than `counts` says
 */
private[checkpoint] final class BucketFiles(
    counts: Map[Int, Long],
    readers: () => RunReaders,
    runs: Seq[Run],
    tail: ChangelogTail,
    onDamage: () => Unit,
    miscounted: (Int, Long) => CorruptException
) extends BucketLoader {
  @volatile private[this] var sources = new BucketFiles.Sources(runs, tail)
  @volatile private[this] var check = TailCheck.of(tail)
  private[this] val unfinished = new AtomicInteger(counts.count(_._2 > 0))

  override def keyCount(family: Int): Long = counts.getOrElse(family, 0L)

  override def load(family: Int, bucket: Int, sink: RecordSink): Unit = {
    loadRuns(BucketSpan(family, bucket, bucket), sink)
    sources.tail.read(family, bucket, sink)
    sources.tail.loaded(family, bucket)
  }

  override def find(family: Int, key: RecordBuffer): Array[Byte] = {
    val inRuns = Iterator.single(key).map(findInRuns(family, _))
    Lookup.combined(sources.tail.find(family, key) ++ inRuns) match {
      case Lookup.Found(record) => record
      case _                    => null
    }
  }

  /** With the last family the files are let go: nobody asks for them again. */
  override def verify(family: Int, keys: Long): Unit = {
    if (keys != keyCount(family)) noting(throw miscounted(family, keys))
    if (unfinished.decrementAndGet() == 0) {
      sources = null
      check = TailCheck.Settled
    }
  }

  /** What is verified need not be remembered, nor the files that it leads to. */
  override def verifyRest(): Unit = {
    check.settle()
    check = TailCheck.Settled
  }

  override def heldBytes: Long = Option(sources).fold(0L)(_.tail.heapBytes)

  private def findInRuns(family: Int, key: RecordBuffer): Lookup = {
    val runs = sources.runs
    if (runs.isEmpty) Lookup.Absent
    else {
      val record = key.toKeyRecord
      val bytes = Arrays.copyOfRange(record, Record.keyStart(record), record.length)
      noting(readers().get(runs, family, key.bucket, bytes))
    }
  }

  private def loadRuns(span: BucketSpan, sink: RecordSink): Unit = {
    val runs = sources.runs
    if (runs.exists(_.files.exists(_.overlaps(span)))) noting {
      val cursor = readers().scan(runs, span, dropRemovals = true)
      try while (cursor.advance()) sink(cursor.record, cursor.op)
      finally cursor.close()
    }
  }

  private def noting[A](read: => A): A =
    try read
    catch {
      case e @ (_: CorruptException | _: MissingException) =>
        onDamage()
        throw e
    }
}

private object BucketFiles {
  private final class Sources(val runs: Seq[Run], val tail: ChangelogTail)
}
