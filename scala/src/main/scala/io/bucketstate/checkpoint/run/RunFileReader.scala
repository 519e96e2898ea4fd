package io.bucketstate.checkpoint.run

import java.nio.file.Path

import org.rocksdb.{ReadOptions, SstFileReader}

import io.bucketstate.checkpoint.io.Damage
import io.bucketstate.checkpoint.records.{Lookup, RecordCursor}

/**
 * One file of a run, opened. Every block that is read is verified; damage is a `CorruptException` that
 * reaches whoever reads, never a key that is not there.
 *
 * Thread-safe. What is native is let go when the reader and all its cursors are closed, whichever is
 * last: closing a file under a cursor would bring down the process.
 */
final class RunFileReader private (
    val file: RunFile,
    path: Path,
    sst: SstFileReader,
    options: SstOptions,
    damage: Damage
) extends OpenRunFile(path) {
  private[this] var points: RunFileCursor = _ // made when a key is first looked up

  /** All there is. A cursor that came to the end has seen as many entries as the manifest says. */
  def scanAll(): RecordCursor = cursor(_.all(file.entries))

  /** What the file has of these buckets. */
  def scan(span: BucketSpan): RecordCursor = cursor(_.within(span))

  def get(family: Int, bucket: Int, key: Array[Byte]): Lookup = synchronized {
    requireOpen()
    if (points == null) points = cursorOf(options.point, () => ())
    points.find(RunFormat.keyOf(family, bucket, key))
  }

  protected def free(): Unit = {
    if (points != null) points.close()
    sst.close()
    options.released()
  }

  private def cursor(begin: RunFileCursor => RunFileCursor): RecordCursor = synchronized {
    hold()
    try begin(cursorOf(options.scan, () => release()))
    catch {
      case failure: Throwable =>
        release()
        throw failure
    }
  }

  private def cursorOf(reading: ReadOptions, onClose: () => Unit): RunFileCursor =
    new RunFileCursor(sst.newIterator(reading), path, damage, onClose)
}

object RunFileReader {

  /** Opens a file, fetching it first where it is not on a local disk. The caller closes it. */
  def open(file: RunFile, local: LocalRuns, options: SstOptions): RunFileReader =
    local.using(file)(opened(file, _, options))

  private def opened(file: RunFile, path: Path, options: SstOptions): RunFileReader = {
    val damage = RunFormat.damageOf(file, path)
    options.acquired()
    val sst = new SstFileReader(options.options)
    try
      SstErrors.reading(path.toString, damage) {
        sst.open(path.toString)
        RunFormat.checkEntries(file, sst.getTableProperties.getNumEntries, damage)
        new RunFileReader(file, path, sst, options, damage)
      }
    catch {
      case failure: Throwable =>
        sst.close()
        options.released()
        throw failure
    }
  }
}
