package io.bucketstate.checkpoint.run

import scala.collection.mutable
import scala.collection.mutable.ArrayBuffer

import io.bucketstate.checkpoint.io.Closing
import io.bucketstate.checkpoint.records.{Lookup, RecordCursor, RunMerge}

/**
 * A store's runs, read together. Files are opened, and where that is needed fetched, when they are
 * first touched, and stay open until they are given up. Thread-safe.
 *
 * @param check what is verified of a file that lies in the checkpoint when it is opened
 */
final class RunReaders(local: LocalRuns, options: SstOptions, check: RunCheck = RunCheck.Whole)
    extends AutoCloseable {
  private[this] val open = mutable.HashMap.empty[String, RunFileReader]
  private[this] var closed = false

  /** What these runs, newest first, hold of some buckets: each key's newest record. */
  def scan(newestFirst: Seq[Run], span: BucketSpan, dropRemovals: Boolean): RecordCursor =
    merged(newestFirst, _.overlaps(span), _.scan(span), dropRemovals)

  /** All that these runs, newest first, hold. */
  def scanAll(newestFirst: Seq[Run], dropRemovals: Boolean): RecordCursor =
    merged(newestFirst, _ => true, _.scanAll(), dropRemovals)

  def get(newestFirst: Seq[Run], family: Int, bucket: Int, key: Array[Byte]): Lookup = {
    val files = newestFirst.iterator
      .flatMap(_.files)
      .filter(_.buckets.exists(b => b.family == family && b.holds(bucket)))
    Lookup.combined(files.map(reader(_).get(family, bucket, key)))
  }

  /** Opens the files of some buckets, and fetches them where they are not local: a warm-up. */
  def prepare(runs: Seq[Run], span: BucketSpan): Unit =
    runs.iterator.flatMap(_.files).filter(_.overlaps(span)).foreach(reader)

  /** Gives up the files that are not among these; cursors that are under way go on. */
  def retain(names: Set[String]): Unit = synchronized {
    val (kept, gone) = open.partition { case (name, _) => names.contains(name) }
    open.filterInPlace((name, _) => kept.contains(name))
    Closing.all(gone.values.toSeq)
  }

  def close(): Unit = synchronized {
    closed = true
    retain(Set.empty)
  }

  private def merged(
      newestFirst: Seq[Run],
      wanted: RunFile => Boolean,
      scan: RunFileReader => RecordCursor,
      dropRemovals: Boolean
  ): RecordCursor = {
    val cursors = ArrayBuffer.empty[RecordCursor]
    try {
      // Files of one run share no bucket, so each may be a cursor of its own.
      newestFirst.foreach(_.files.filter(wanted).foreach(file => cursors += scan(reader(file))))
      new RunMerge(cursors.toSeq, dropRemovals)
    } catch {
      case failure: Throwable =>
        Closing.all(cursors.toSeq)
        throw failure
    }
  }

  private def reader(file: RunFile): RunFileReader = synchronized(open.get(file.name)).getOrElse {
    // Outside the lock: a fetch may take long, and others want files that are open.
    val opened = RunFileReader.open(file, local, options, check)
    synchronized {
      open.get(file.name) match {
        case Some(first) =>
          opened.close()
          first
        case None if closed =>
          opened.close()
          throw new IllegalStateException(s"the readers of ${file.name} were closed")
        case None =>
          open(file.name) = opened
          opened
      }
    }
  }
}
