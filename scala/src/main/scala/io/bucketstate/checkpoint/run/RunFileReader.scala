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
) extends AutoCloseable {
  private[this] var users = 1 // the reader itself is one, until it is closed
  private[this] var closed = false
  private[this] lazy val points = cursorOf(options.point)
  private[this] var hasPoints = false

  /** All there is. A cursor that came to the end has seen as many entries as the manifest says. */
  def scanAll(): RecordCursor =
    cursor(cursorOf(options.scan).all(file.entries))

  /** What the file has of these buckets. */
  def scan(span: BucketSpan): RecordCursor =
    cursor(cursorOf(options.scan).within(span))

  def get(family: Int, bucket: Int, key: Array[Byte]): Lookup = synchronized {
    requireOpen()
    if (!hasPoints) {
      acquire()
      hasPoints = true
    }
    points.find(RunFormat.keyOf(family, bucket, key))
  }

  def close(): Unit = synchronized {
    if (!closed) {
      closed = true
      if (hasPoints) points.close()
      release()
    }
  }

  private def cursor(make: => RunFileCursor): RunFileCursor = synchronized {
    requireOpen()
    acquire()
    try make
    catch {
      case failure: Throwable =>
        release()
        throw failure
    }
  }

  private def cursorOf(reading: ReadOptions): RunFileCursor =
    new RunFileCursor(sst.newIterator(reading), path, damage, () => release())

  private def acquire(): Unit = {
    options.acquired()
    users += 1
  }

  private def release(): Unit = synchronized {
    users -= 1
    if (users == 0) sst.close()
    options.released()
  }

  private def requireOpen(): Unit =
    if (closed) throw new IllegalStateException(s"$path was closed")
}

object RunFileReader {

  /**
   * Opens a file, fetching it first where it is not on a local disk. The caller closes it.
   *
   * @param check what is verified before anything is read, of a file that lies in the checkpoint
   */
  def open(
      file: RunFile,
      local: LocalRuns,
      options: SstOptions,
      check: RunCheck = RunCheck.Whole
  ): RunFileReader = {
    val path = local.locate(file, check)
    val damage = new Damage(path.toString, s"run file of ${file.entries} entries")
    options.acquired()
    val sst = new SstFileReader(options.options)
    try
      SstErrors.reading(path.toString, damage) {
        sst.open(path.toString)
        val found = sst.getTableProperties.getNumEntries
        if (found != file.entries)
          throw damage.mismatch("a number of entries of", file.entries, found)
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
