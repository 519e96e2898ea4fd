package io.bucketstate.checkpoint.snapshot

import scala.collection.mutable.ArrayBuffer

import io.bucketstate.checkpoint.run.{Run, RunFile}
import io.bucketstate.record.TimeBuckets

/**
 * Which files of a manifest's runs nobody needs to read any more, without reading them. An expired record hides what
 * older runs have of its key, so a file may only go with all that it could hide.
 */
private[snapshot] object ExpiredFiles {

  /**
   * The runs, newest first, without those files.
   *
   * @param times of the families whose records have times, at the manifest's version
   * @param busy  files that stay: a compaction must find them as they were
   */
  def leftOut(
      newestFirst: Seq[Run],
      times: Map[Int, TimeBuckets],
      busy: Set[String] = Set.empty
  ): Seq[Run] =
    if (times.isEmpty) newestFirst
    else {
      val older = ArrayBuffer.empty[RunFile]
      newestFirst.reverse.map { run =>
        val left = run.files.filterNot { file =>
          !busy(file.name) && isOver(file, times) && !older.exists(_.overlaps(file))
        }
        older ++= left
        if (left.size == run.files.size) run else run.copy(files = left)
      }.reverse
    }

  private def isOver(file: RunFile, times: Map[Int, TimeBuckets]): Boolean =
    file.times.exists { span =>
      file.buckets.forall(b => times.get(b.family).exists(span.last < _.horizon))
    }
}
