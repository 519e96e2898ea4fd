package io.bucketstate.checkpoint.run

import scala.collection.AbstractIterator
import scala.collection.mutable.ArrayBuffer

import io.bucketstate.checkpoint.io.Closing
import io.bucketstate.checkpoint.records.{Lookup, RecordCursor, RunMerge}

/**
 * A store's runs, read together. Files are opened, and where that is needed fetched, when they are
 * first touched, and stay open until they are given up: by RocksDB for scans, in the JVM for lookups, so
 * that the first key after a restart does not wait for a native library. Thread-safe.
 */
final class RunReaders(local: LocalRuns, options: SstOptions) extends AutoCloseable {
  private[this] val scanned = new OpenRunFiles(RunFileReader.open(_, local, options))
  private[this] val searched = new OpenRunFiles[OpenRunFile](openToSearch)

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
  def get(newestFirst: Seq[Run], family: Int, bucket: Int, key: Array[Byte]): Lookup =
    Lookup.combined(new Answers(newestFirst.iterator, family, bucket, key))

  /** Gives up the files that are not among these; who reads from one of them is not disturbed. */
  def retain(names: Set[String]): Unit =
    try searched.retain(names)
    finally scanned.retain(names)

  /** What is kept on the heap so that the next lookups are quick. */
  def heapBytes: Long = searched.all.iterator.map(_.heapBytes).sum

  /** Gives that up; the next lookup in each file reads it again. */
  def shed(): Unit = searched.all.foreach(_.shed())

  def close(): Unit = Closing.all(Seq(searched, scanned))

  /** What each file that may have a key says of it; none is asked before its answer is wanted. */
  private final class Answers(runs: Iterator[Run], family: Int, bucket: Int, key: Array[Byte])
      extends AbstractIterator[Lookup] {
    private[this] var files = Iterator[RunFile]()
    private[this] var file: RunFile = _ // to be asked next, once it is found

    def hasNext: Boolean = {
      while (file == null && (files.hasNext || runs.hasNext))
        if (!files.hasNext) files = runs.next().files.iterator
        else {
          val some = files.next()
          if (some.holds(family, bucket)) file = some
        }
      file != null
    }

    def next(): Lookup = {
      if (!hasNext) throw new NoSuchElementException("all files were asked")
      val reader = searched.held(file)
      file = null
      try reader.get(family, bucket, key)
      finally reader.release()
    }
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
      newestFirst.foreach(_.files.filter(wanted).foreach(file => cursors += opened(file, scan)))
      new RunMerge(cursors.toSeq, dropRemovals)
    } catch {
      case failure: Throwable =>
        Closing.all(cursors.toSeq)
        throw failure
    }
  }

  private def opened(file: RunFile, scan: RunFileReader => RecordCursor): RecordCursor = {
    local.verify(file)
    scanned.using(file)(scan)
  }

  /** Without native code, unless the file is not one of today's writers. */
  private def openToSearch(file: RunFile): OpenRunFile =
    RunFileLookup.open(file, local).getOrElse(RunFileReader.open(file, local, options))
}
