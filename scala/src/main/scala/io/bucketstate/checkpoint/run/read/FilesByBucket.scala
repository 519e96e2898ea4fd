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
  private[this] val known = new ConcurrentHashMap[Integer, Array[RunFile]]

  def isEmpty: Boolean = newestFirst.isEmpty

  /** Those that may hold keys of a bucket, newest first. */
  private[run] def of(family: Int, bucket: Int): Array[RunFile] =
    known.computeIfAbsent(
      RunFormat.prefix(family, bucket),
      _ => newestFirst.iterator.flatMap(_.files).filter(_.holds(family, bucket)).toArray
    )
}
