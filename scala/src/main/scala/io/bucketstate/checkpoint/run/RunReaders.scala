package io.bucketstate.checkpoint.run

import scala.collection.mutable
import scala.collection.mutable.ArrayBuffer

import io.bucketstate.checkpoint.io.Closing
import io.bucketstate.checkpoint.records.{Lookup, RecordCursor, RunMerge}

/**
 * A store's runs, read together. Files are opened, and where that is needed fetched, when they are
 * first touched, and stay open until they are given up. Thread-safe.
 */
final class RunReaders(local: LocalRuns, options: SstOptions) extends AutoCloseable {
  private[this] val open = mutable.HashMap.empty[String, RunFileReader]
  private[this] var closed = false

  /**
   * What these runs, newest first, hold of some buckets: each key's newest record. Files are verified whole
   * before they are first scanned.
   */
  def scan(newestFirst: Seq[Run], span: BucketSpan, dropRemovals: Boolean): RecordCursor =
    merged(newestFirst, _.overlaps(span), _.scan(span), dropRemovals)

  /** All that these runs, newest first, hold. */
  def scanAll(newestFirst: Seq[Run], dropRemovals: Boolean): RecordCursor =
    merged(newestFirst, _ => true, _.scanAll(), dropRemovals)

  /** What these runs, newest first, say of a key. Verifies the blocks that it reads, and no others. */
  def get(newestFirst: Seq[Run], family: Int, bucket: Int, key: Array[Byte]): Lookup = {
    val files = newestFirst.iterator
      .flatMap(_.files)
      .filter(_.buckets.exists(b => b.family == family && b.holds(bucket)))
    Lookup.combined(files.map(file => using(file)(_.get(family, bucket, key))))
  }

  /** Gives up the files that are not among these; who reads from one of them is not disturbed. */
  def retain(names: Set[String]): Unit = synchronized {
    val gone = open.view.filterKeys(!names.contains(_)).toMap
    open --= gone.keys
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
      newestFirst.foreach(_.files.filter(wanted).foreach(file => cursors += scanned(file, scan)))
      new RunMerge(cursors.toSeq, dropRemovals)
    } catch {
      case failure: Throwable =>
        Closing.all(cursors.toSeq)
        throw failure
    }
  }

  private def scanned(file: RunFile, scan: RunFileReader => RecordCursor): RecordCursor = {
    local.verify(file)
    using(file)(scan)
  }

  /** Holds a file open while it is read from: another thread may give it up at any moment. */
  private def using[A](file: RunFile)(read: RunFileReader => A): A = {
    val reader = held(file)
    try read(reader)
    finally reader.release()
  }

  private def held(file: RunFile): RunFileReader =
    synchronized(open.get(file.name).map(holding)).getOrElse {
      // Outside the lock: a fetch may take long, and others want files that are open.
      val opened = RunFileReader.open(file, local, options)
      synchronized {
        open.get(file.name) match {
          case Some(first) =>
            opened.close()
            holding(first)
          case None if closed =>
            opened.close()
            throw new IllegalStateException(s"the readers of ${file.name} were closed")
          case None =>
            open(file.name) = opened
            holding(opened)
        }
      }
    }

  private def holding(reader: RunFileReader): RunFileReader = {
    reader.hold()
    reader
  }
}
