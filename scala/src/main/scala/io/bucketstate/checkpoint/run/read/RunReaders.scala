package io.bucketstate.checkpoint.run.read

import scala.collection.AbstractIterator
import scala.collection.mutable.ArrayBuffer
import scala.math.Ordering.Implicits._

import io.bucketstate.checkpoint.io.Closing
import io.bucketstate.checkpoint.records.{Lookup, RecordCursor, RunMerge}
import io.bucketstate.checkpoint.run.open.{SharedReads, StoreReads}
import io.bucketstate.checkpoint.run.{
  BucketSpan,
  ColdReads,
  LocalRuns,
  LookUpTrace,
  Run,
  RunFile,
  RunFormat
}
import io.bucketstate.checkpoint.sst.hash.Xxph3
import io.bucketstate.record.KeyRange

/**
 * A store's runs, read together. Files are opened, and where that is needed fetched, when they are
 * first touched, and stay open until they are given up. Thread-safe.
 */
final class RunReaders(local: LocalRuns, reads: StoreReads = SharedReads.alone())
    extends AutoCloseable {
  private[this] val open = new OpenReaders(RunFileReader.open(_, local, reads))

  /**
   * What these runs, newest first, hold of some buckets: each key's newest record. Files are verified whole
   * before they are first scanned.
   */
  def scan(newestFirst: Seq[Run], span: BucketSpan, dropRemovals: Boolean): RecordCursor =
    merged(newestFirst, _.overlaps(span), _.scan(span), dropRemovals)

  /** All that these runs, newest first, hold. */
  def scanAll(newestFirst: Seq[Run], dropRemovals: Boolean): RecordCursor =
    merged(newestFirst, _ => true, _.scanAll(), dropRemovals)

  /**
   * The records of some keys of a bucket in these files, with all that they are made of. Verifies the blocks that it
   * reads, and no others.
   */
  def range(files: FilesByBucket, family: Int, bucket: Int, keys: KeyRange): RecordCursor = {
    val from = if (keys.from == null) Array.emptyByteArray else keys.from
    val first = RunFormat.keyOf(family, bucket, from)
    val last = RunFormat.prefix(family, bucket)
    val merged = merging(dropRemovals = true) { cursors =>
      files.of(family, bucket).foreach(file => cursors += open.using(file)(_.scan(first, last)))
    }
    new RecordsUntil(merged, keys)
  }

  /** What these files say of a key. Verifies the blocks that it reads, and no others. */
  def get(files: FilesByBucket, family: Int, bucket: Int, key: Array[Byte]): Lookup = {
    val trace = new LookUpTrace
    val wanted = RunFormat.keyOf(family, bucket, key)
    val found = Lookup.combined(family, new Answers(files.of(family, bucket), wanted, trace))
    reads.figures.lookedUp(trace)
    found
  }

  /** False if the filters of these files say that none has the key. Reads what is not in memory of them. */
  def mayHold(files: FilesByBucket, family: Int, bucket: Int, key: Array[Byte]): Boolean = {
    val wanted = RunFormat.keyOf(family, bucket, key)
    val hash = Xxph3.hash(wanted, wanted.length)
    val trace = new LookUpTrace
    files.of(family, bucket).exists(file => open.using(file)(_.mayHave(wanted, hash, trace)))
  }

  /** Gives up the files that are not among these; whoever reads from one of them is not disturbed. */
  def retain(names: Set[String]): Unit =
    // Their blocks would be in the way of others until as many were read again.
    if (open.retain(names)) reads.cache.forgetGivenUp()

  /** What is kept on the heap of indexes, filters and data so that the next look-ups are quick, in bytes. */
  def heapBytes: Long = reads.heapBytes

  /** Gives that up, but for the lists of parts of open files; the next look-ups read it again. */
  def shed(): Unit = if (reads.heapBytes > 0) reads.cache.forget(reads.figures)

  /** Look-ups of single keys since the last call. */
  def drain(): ColdReads = reads.drain()

  def close(): Unit = Closing.all(
    Seq[AutoCloseable](open, () => reads.cache.forget(reads.figures), reads)
  )

  /** What each file says of a key; none is asked before its answer is wanted. */
  private final class Answers(
      files: Array[RunFile],
      wanted: Array[Byte],
      trace: LookUpTrace
  ) extends AbstractIterator[Lookup] {
    private[this] val hash = Xxph3.hash(wanted, wanted.length)
    private[this] var following = 0

    def hasNext: Boolean = following < files.length

    def next(): Lookup = {
      if (!hasNext) throw new NoSuchElementException("all files were asked")
      following += 1
      open.using(files(following - 1))(_.get(wanted, hash, trace))
    }
  }

  private def merged(
      newestFirst: Seq[Run],
      wanted: RunFile => Boolean,
      scan: RunFileReader => RecordCursor,
      dropRemovals: Boolean
  ): RecordCursor = merging(dropRemovals) { cursors =>
    newestFirst.foreach { run =>
      RunReaders.chains(run.files.filter(wanted)).foreach { files =>
        val begun = cursors.size
        files.foreach(file => cursors += opened(file, scan))
        if (files.size > 1) {
          val chained = new ChainedCursor(cursors.drop(begun).toSeq)
          cursors.takeInPlace(begun) += chained
        }
      }
    }
  }

  /** Merges the cursors that are opened, newest first, or closes them where one cannot be. */
  private def merging(
      dropRemovals: Boolean
  )(open: ArrayBuffer[RecordCursor] => Unit): RecordCursor = {
    val cursors = ArrayBuffer.empty[RecordCursor]
    try {
      open(cursors)
      new RunMerge(cursors.toSeq, dropRemovals)
    } catch {
      case failure: Throwable =>
        Closing.all(cursors.toSeq)
        throw failure
    }
  }

  private def opened(file: RunFile, scan: RunFileReader => RecordCursor): RecordCursor = {
    local.verify(file)
    open.using(file)(scan)
  }
}

private object RunReaders {

  /**
   * The files of a run as a few chains, in each of which every file has only what comes before all of the next one: as
   * many as there are slices of time. Nothing is said of how writers order them.
   */
  private def chains(files: Seq[RunFile]): Seq[Seq[RunFile]] = {
    val chains = ArrayBuffer.empty[ArrayBuffer[RunFile]]
    files.sortBy(first).foreach { file =>
      chains.find(chain => isBefore(chain.last, file)) match {
        case Some(chain) => chain += file
        case None        => chains += ArrayBuffer(file)
      }
    }
    chains.map(_.toSeq).toSeq
  }

  private def isBefore(before: RunFile, after: RunFile): Boolean =
    before.buckets.nonEmpty && after.buckets.nonEmpty &&
      before.buckets.map(b => (b.family, b.last)).max < first(after)

  private def first(file: RunFile): (Int, Int) =
    file.buckets.iterator.map(b => (b.family, b.first)).minOption.getOrElse((-1, -1))
}
