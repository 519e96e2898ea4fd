package io.bucketstate.checkpoint.run.write

import java.nio.file.{Files, Path}
import java.util.UUID

import scala.collection.mutable.ArrayBuffer
import scala.util.Using
import scala.util.control.NonFatal

import io.bucketstate.checkpoint.io.{FileStore, RunName}
import io.bucketstate.checkpoint.records.RecordCursor
import io.bucketstate.checkpoint.run.{BucketCuts, LocalRuns, Run, RunFile, TimeSlices, VersionSpan}
import io.bucketstate.checkpoint.sst.SstOptions
import io.bucketstate.record.{RecordOp, TimedValue}

/**
 * Writes runs: each file first to the local disk, then, whole, to the checkpoint. A run is visible to
 * readers only once a manifest names it, so files that are uploaded before a later one fails harm
 * nobody; they are deleted as far as that works, and retention finds the rest.
 *
 * Thread-safe: runs are written independently of each other.
 *
 * @param maxFileBytes a file is closed at the end of the bucket that takes it past this
 */
final class RunWriter(
    folder: FileStore,
    local: LocalRuns,
    options: SstOptions,
    maxFileBytes: Long,
    newId: () => UUID = () => UUID.randomUUID()
) {

  /**
   * Writes all that `records` still has and closes it.
   *
   * @param oldest nothing lies below this run, so its removals have nothing to hide and are left out
   * @param slices by which it is cut
   * @param cuts   no file reaches over one
   * @param naming told of each file's name before there is a file of that name
   */
  def write(
      versions: VersionSpan,
      records: RecordCursor,
      oldest: Boolean,
      slices: TimeSlices = TimeSlices.None,
      cuts: BucketCuts = BucketCuts.None,
      naming: String => Unit = _ => ()
  ): Run =
    Using.resource(records) { _ =>
      val files = new SlicedFiles(versions, slices, cuts, naming)
      try {
        var more = next(records, oldest)
        while (more) more = fill(files, records, oldest)
        Run(versions, files.finish())
      } catch {
        case failure: Throwable =>
          files.giveUp(failure)
          throw failure
      }
    }

  /**
   * Deletes files that no manifest names, as far as that works: retention finds the rest. Returns what went
   * wrong.
   */
  def discard(files: Seq[RunFile]): Seq[Throwable] = files.flatMap(file => notDeleted(file.name))

  /** Puts in the record the cursor stands on and those behind it of the same bucket; true if some are left. */
  private def fill(files: SlicedFiles, records: RecordCursor, oldest: Boolean): Boolean = {
    val (family, bucket) = (records.family, records.bucket)
    var more = true
    files.bucketBegins(family, bucket)
    while (more && records.family == family && records.bucket == bucket) {
      // Below the oldest run there is nothing that a value could be appended to.
      val op = if (oldest) RecordOp.Put else records.op
      files.put(family, bucket, records.record, op)
      more = next(records, oldest)
    }
    files.bucketDone()
    more
  }

  private def next(records: RecordCursor, oldest: Boolean): Boolean = {
    var more = records.advance()
    while (more && oldest && records.isRemoval) more = records.advance()
    more
  }

  private def upload(name: String, work: Path, file: RunFileWriter): RunFile = {
    try publish(name, work)
    catch {
      case failure: Throwable =>
        // The reply may have been lost after the file was there.
        notDeleted(name).foreach(failure.addSuppressed)
        throw failure
    }
    local.keep(name, work)
    RunFile(
      name,
      file.length,
      file.entries,
      file.tombstones,
      file.spans,
      file.checksum,
      file.times
    )
  }

  /** What the file's length and checksum are is known since it was written: nothing is read to be moved. */
  private def publish(name: String, work: Path): Unit =
    if (folder.localPath(name).isEmpty || !folder.moveIn(name, work)) {
      folder.write(name) { out =>
        Files.copy(work, out)
        ()
      }
    }

  /** The files of one run while it is written: of each slice one is open at most. */
  private final class SlicedFiles(
      versions: VersionSpan,
      slices: TimeSlices,
      cuts: BucketCuts,
      naming: String => Unit
  ) {
    private[this] var spanNow = -1L
    private[this] val open = new Array[OpenFile](slices.count)
    private[this] val done = Array.fill(slices.count)(ArrayBuffer.empty[RunFile])
    private[this] var begun = 0

    def put(family: Int, bucket: Int, record: Array[Byte], op: Byte): Unit = {
      val slice =
        if (!RecordOp.hasValue(op) || !slices.isTimed(family)) 0
        else slices.of(TimedValue.startOf(record))
      if (open(slice) == null) open(slice) = begin()
      open(slice).writer.put(family, bucket, record, op)
    }

    def bucketBegins(family: Int, bucket: Int): Unit = {
      val span = cuts.spanOf(family, bucket)
      if (span != spanNow) endAll()
      spanNow = span
    }

    /** No file is cut within a bucket. */
    def bucketDone(): Unit = open.indices.foreach { slice =>
      if (open(slice) != null && open(slice).writer.length >= maxFileBytes) end(slice)
    }

    /** All of them, slice by slice. */
    def finish(): Seq[RunFile] = {
      endAll()
      done.iterator.flatten.toSeq
    }

    /** Deletes what there is of them. */
    def giveUp(failure: Throwable): Unit = {
      open.foreach { file =>
        if (file != null) {
          try file.writer.close()
          catch { case NonFatal(e) => failure.addSuppressed(e) }
          LocalRuns.discard(file.work, failure)
        }
      }
      discard(done.iterator.flatten.toSeq).foreach(failure.addSuppressed)
    }

    private def begin(): OpenFile = {
      val id = newId()
      val name = RunName(versions.last, begun, id).name
      begun += 1
      naming(name)
      val work = local.workFile(name)
      new OpenFile(name, work, new RunFileWriter(work, options, id, slices.isTimed, local.create))
    }

    private def endAll(): Unit =
      open.indices.foreach(slice => if (open(slice) != null) end(slice))

    private def end(slice: Int): Unit = {
      val file = open(slice)
      file.writer.finish()
      file.writer.close()
      done(slice) += upload(file.name, file.work, file.writer)
      open(slice) = null
    }
  }

  private final class OpenFile(val name: String, val work: Path, val writer: RunFileWriter)

  private def notDeleted(name: String): Option[Throwable] =
    try {
      folder.delete(name)
      None
    } catch { case NonFatal(failure) => Some(failure) }
}
