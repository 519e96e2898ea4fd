package io.bucketstate.checkpoint.manifest

import java.util.Arrays

import io.bucketstate.checkpoint.records.{ExpiredRecords, Lookup}
import io.bucketstate.checkpoint.run.BucketSpan
import io.bucketstate.checkpoint.run.read.{FilesByBucket, RunReaders}
import io.bucketstate.error.{BucketstateException, CorruptException, MissingException}
import io.bucketstate.record.{ColdState, KeyRange, Record, RecordBuffer, RecordSink}

/**
 * The state at a manifest's version as its runs have it. Files are opened when they are first asked, and must be
 * there as long as anybody asks.
 *
 * @param readers  opens the runs
 * @param onDamage is told what a read failed with, when a run turns out to be damaged or gone
 */
final class ManifestState(
    val manifest: Manifest,
    readers: () => RunReaders,
    onDamage: BucketstateException => Unit
) extends ColdState {
  private[this] val counts =
    manifest.families.iterator.map(f => f.descriptor.id -> f.keyCount).toMap
  private[this] val expired = new ExpiredRecords(manifest.times)
  private[this] val files = new FilesByBucket(manifest.runs)

  override val version: Long = manifest.version

  /** The files it reads. */
  def fileNames: Set[String] = manifest.fileNames

  override val wholeBytes: Long = manifest.bytes * ManifestState.Expansion

  override def keyCount(family: Int): Option[Long] = counts.getOrElse(family, Some(0L))

  override def find(family: Int, key: RecordBuffer): Array[Byte] = lookUp(family, key) match {
    case Lookup.Found(found) if !expired.holds(family, found) => found
    case _                                                    => null
  }

  /** What all runs together say of a key. */
  def lookUp(family: Int, key: RecordBuffer): Lookup =
    if (files.isEmpty) Lookup.Absent
    else noting(readers().get(files, family, key.bucket, bytesOf(key)))

  /** Asks the filters of the files. A file may hold a key that a newer one removes. */
  override def mayHold(family: Int, key: RecordBuffer): Boolean =
    !files.isEmpty && noting(readers().mayHold(files, family, key.bucket, bytesOf(key)))

  override def scan(family: Int, bucket: Int, sink: RecordSink): Unit = {
    val span = BucketSpan(family, bucket, bucket)
    if (manifest.runs.exists(_.files.exists(_.overlaps(span)))) noting {
      val cursor =
        expired.dropped(readers().scan(manifest.runs, span, dropRemovals = true))
      try while (cursor.advance()) sink(cursor.record, cursor.op)
      finally cursor.close()
    }
  }

  override def range(family: Int, bucket: Int, keys: KeyRange, most: Int)(
      sink: Array[Byte] => Unit
  ): Unit = if (!files.isEmpty) noting {
    val records = expired.dropped(readers().range(files, family, bucket, keys))
    try {
      var left = most
      while (left > 0 && records.advance()) {
        sink(records.record)
        left -= 1
      }
    } finally records.close()
  }

  /** Its files are closed by whoever retains them. */
  override def release(): Unit = ()

  private def bytesOf(key: RecordBuffer): Array[Byte] = {
    val record = key.toKeyRecord
    Arrays.copyOfRange(record, Record.keyStart(record), record.length)
  }

  private def noting[A](read: => A): A =
    try read
    catch {
      case e: CorruptException => throw noted(e)
      case e: MissingException => throw noted(e)
    }

  private def noted(cause: BucketstateException): Throwable = {
    onDamage(cause)
    cause
  }
}

private object ManifestState {

  /** What a byte of a run takes on the heap: runs are compressed, and have no headers and no empty slots. */
  private final val Expansion = 2L
}
