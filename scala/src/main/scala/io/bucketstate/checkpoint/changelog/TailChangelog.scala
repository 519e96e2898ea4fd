package io.bucketstate.checkpoint.changelog

import java.util.{Arrays, BitSet}

import scala.util.Using

import io.bucketstate.checkpoint.io.{Attempt, Damage, Exclusive, FileStore}
import io.bucketstate.checkpoint.records.{Lookup, RecordPlaces}
import io.bucketstate.error.CorruptException
import io.bucketstate.record.{RecordBuffer, RecordSink}

/**
 * One changelog of a [[ChangelogTail]]. A block is read and inflated when one of its buckets is first
 * asked for, and let go when all of them were loaded. Thread-safe.
 *
 * @param opened   tells what header and footer say
 * @param isHeld   whether `opened` has the file in memory, verified; else it is opened for each block
 * @param places   the buckets of records: blocks hold several and do not say which is whose
 */
private[checkpoint] final class TailChangelog(
    folder: FileStore,
    val file: Attempt,
    val opened: ChangelogReader,
    isHeld: Boolean,
    places: RecordPlaces
) {
  import TailChangelog._

  private[this] val blocks = opened.blocks.map(new Share(_)).toArray
  private[this] val locks =
    Array.fill(math.min(blocks.length, MostLocks))(new Exclusive) // of blocks

  /** Hands out what the changelog has of a bucket. */
  def read(family: Int, bucket: Int, sink: RecordSink): Unit =
    each(family, bucket)((share, alone) => alone(path)(share.read(bucket, sink)))

  /** What the changelog has of a key. */
  def find(family: Int, key: RecordBuffer): Lookup = {
    var found: Lookup = Lookup.Absent
    each(family, key.bucket) { (share, alone) =>
      if (found == Lookup.Absent) found = alone(path)(share.find(key))
    }
    found
  }

  /** A bucket was loaded: it is not read again. */
  def loaded(family: Int, bucket: Int): Unit =
    each(family, bucket)((share, alone) => alone(path)(share.loaded(bucket)))

  /** Whether all its bytes have been verified already. */
  def isVerified: Boolean = isHeld

  /** Compares the checksums of all blocks, without decoding any. */
  def verify(): Unit = reading(_.verifyBlocks())

  /** Bytes of heap that it holds now. Waits for nobody who reads. */
  def heapBytes: Long =
    (if (isHeld) opened.length else 0L) + blocks.iterator.map(_.heapBytes).sum

  private def each(family: Int, bucket: Int)(use: (Share, Exclusive) => Unit): Unit = {
    var i = 0
    while (i < blocks.length) {
      val block = blocks(i).block
      if (block.family == family && block.holds(bucket)) use(blocks(i), locks(i % locks.length))
      i += 1
    }
  }

  private def path = s"${folder.location}/${file.changelog}"

  private def reading[A](use: ChangelogReader => A): A =
    if (isHeld) use(opened)
    else Using.resource(ChangelogReader.open(folder, file, Some(opened.length)))(use)

  /** A block and, while buckets of it were not loaded, its records. */
  private final class Share(val block: ChangelogBlock) {
    @volatile private[this] var content: IndexedBlock = _
    // Of the records, known when a bucket is first read.
    @volatile private[this] var buckets: Array[Int] = _
    private[this] var done: BitSet = _ // buckets that were loaded, counted from the block's first

    def read(bucket: Int, sink: RecordSink): Unit = {
      val (raw, starts) = (records.raw, records.starts)
      if (buckets == null) buckets = bucketsOf(raw, starts)
      val all = buckets
      var i = 0
      while (i < starts.length) {
        if (all(i) == bucket) sink(recordAt(raw, starts(i)), raw(starts(i)))
        i += 1
      }
    }

    /** Compares the keys in place: nothing is copied but the record that is found. */
    def find(key: RecordBuffer): Lookup = {
      val (raw, starts) = (records.raw, records.starts)
      var i = 0
      while (i < starts.length) {
        val body = ChangelogRecords.bodyAt(raw, starts(i))
        if (key.sameKey(raw, body, ChangelogRecords.bodyLength(raw, starts(i)))) {
          return Lookup.of(recordAt(raw, starts(i)), raw(starts(i)))
        }
        i += 1
      }
      Lookup.Absent
    }

    def loaded(bucket: Int): Unit = {
      if (done == null) done = new BitSet
      done.set(bucket - block.firstBucket)
      if (done.cardinality == block.lastBucket - block.firstBucket + 1) {
        content = null
        buckets = null
      }
    }

    def heapBytes: Long = {
      val (block, numbers) = (content, buckets)
      (if (block == null) 0L else block.raw.length + 4L * block.starts.length) +
        (if (numbers == null) 0L else 4L * numbers.length)
    }

    private def records: IndexedBlock = {
      if (content == null) content = reading(_.indexed(block))
      content
    }

    private def recordAt(raw: Array[Byte], start: Int): Array[Byte] = {
      val body = ChangelogRecords.bodyAt(raw, start)
      Arrays.copyOfRange(raw, body, body + ChangelogRecords.bodyLength(raw, start))
    }

    private def bucketsOf(raw: Array[Byte], starts: Array[Int]): Array[Int] = {
      val found = new Array[Int](starts.length)
      var i = 0
      while (i < starts.length) {
        found(i) = places(block.family, raw, ChangelogRecords.bodyAt(raw, starts(i)))
        if (!block.holds(found(i))) throw misplaced(found(i))
        i += 1
      }
      found
    }

    private def misplaced(bucket: Int) = new CorruptException(
      path,
      s"expected keys of buckets ${block.firstBucket} to ${block.lastBucket} in the block at byte " +
        s"${block.offset}, found one of bucket $bucket",
      Damage.Remedy
    )
  }
}

private object TailChangelog {

  /** Changelogs have few blocks, or many: where there are more than locks, some share one. */
  private final val MostLocks = 16
}
