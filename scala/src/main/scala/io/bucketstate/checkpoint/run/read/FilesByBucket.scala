package io.bucketstate.checkpoint.run.read

import java.util.concurrent.ConcurrentHashMap

import io.bucketstate.checkpoint.run.{Run, RunFile, RunFormat}

/**
 * Which files of some runs have a bucket: found once for each bucket that is asked for, because runs have
 * hundreds of files and a look-up asks few of them. Thread-safe.
 *
 * @param newestFirst the runs
 */
final class FilesByBucket(newestFirst: Seq[Run]) {
  private[this] val known = new ConcurrentHashMap[Integer, Array[FilesByBucket.Slot]]
  private[this] val slots =
    newestFirst.iterator.flatMap(_.files).map(new FilesByBucket.Slot(_)).toArray

  def isEmpty: Boolean = newestFirst.isEmpty

  /** Those that may hold keys of a bucket, newest first. */
  private[run] def of(family: Int, bucket: Int): Array[FilesByBucket.Slot] =
    known.computeIfAbsent(
      RunFormat.prefix(family, bucket),
      _ => slots.filter(_.file.holds(family, bucket))
    )
}

private[run] object FilesByBucket {

  /** A file, and its reader from when it was last asked. */
  final class Slot(val file: RunFile) {
    @volatile private[this] var last: RunFileReader = _

    /** The reader, held by the caller. */
    def held(open: RunFile => RunFileReader): RunFileReader = {
      val reader = last
      if (reader != null && reader.tryHold()) reader
      else {
        // Another thread may put its own there before this one returns.
        val opened = open(file)
        last = opened
        opened
      }
    }
  }
}
