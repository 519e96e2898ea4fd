package io.bucketstate.checkpoint.run

import java.nio.file.{Files, Path}
import java.util.UUID

import scala.collection.mutable.ArrayBuffer
import scala.util.Using
import scala.util.control.NonFatal

import io.bucketstate.checkpoint.io.{FileStore, RunName, StorageErrors}
import io.bucketstate.checkpoint.records.RecordCursor
import io.bucketstate.table.RecordOp

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
    store: FileStore,
    local: LocalRuns,
    options: SstOptions,
    maxFileBytes: Long,
    newId: () => UUID = () => UUID.randomUUID()
) {

  /**
   * Writes all that `records` still has and closes it.
   *
   * @param oldest nothing lies below this run, so its removals have nothing to hide and are left out
   * @param naming told of each file's name before there is a file of that name
   */
  def write(
      versions: VersionSpan,
      records: RecordCursor,
      oldest: Boolean,
      naming: String => Unit = _ => ()
  ): Run =
    Using.resource(records) { _ =>
      val done = ArrayBuffer.empty[RunFile]
      try {
        var more = next(records, oldest)
        while (more) {
          val id = newId()
          val name = RunName(versions.last, done.size, id).name
          naming(name)
          val work = local.workFile(name)
          try {
            val filling = new RunFileWriter(work, options, id)
            try more = fill(filling, records, oldest)
            finally filling.close()
            done += upload(name, work, filling)
          } catch {
            case failure: Throwable =>
              LocalRuns.discard(work, failure)
              throw failure
          }
        }
        Run(versions, done.toSeq)
      } catch {
        case failure: Throwable =>
          discard(done.toSeq).foreach(failure.addSuppressed)
          throw failure
      }
    }

  /**
   * Deletes files that no manifest names, as far as that works: retention finds the rest. Returns what went
   * wrong.
   */
  def discard(files: Seq[RunFile]): Seq[Throwable] = files.flatMap(file => notDeleted(file.name))

  /** Puts the record the cursor stands on and those behind it in one file; true if some are left. */
  private def fill(file: RunFileWriter, records: RecordCursor, oldest: Boolean): Boolean = {
    var more = true
    var full = false
    while (more && !full) {
      val (family, bucket) = (records.family, records.bucket)
      while (more && records.family == family && records.bucket == bucket) {
        // Below the oldest run there is nothing that a value could be appended to.
        val op = if (oldest) RecordOp.Put else records.op
        file.put(family, bucket, records.record, op)
        more = next(records, oldest)
      }
      full = file.length >= maxFileBytes
    }
    file.finish()
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
    StorageErrors.changing(work.toString, "could not be kept")(local.keep(name, work))
    RunFile(name, file.length, file.entries, file.tombstones, file.spans, file.checksum)
  }

  /** What the file's length and checksum are is known since it was written: nothing is read to be moved. */
  private def publish(name: String, work: Path): Unit =
    if (store.localPath(name).isEmpty || !store.moveIn(name, work)) {
      store.write(name) { out =>
        Files.copy(work, out)
        ()
      }
    }

  private def notDeleted(name: String): Option[Throwable] =
    try {
      store.delete(name)
      None
    } catch { case NonFatal(failure) => Some(failure) }
}
