package io.bucketstate.table.bucket

import java.util.Arrays

import scala.collection.mutable

import io.bucketstate.error.CorruptException
import io.bucketstate.record.{
  BucketAssigner,
  ColdState,
  FamilySpec,
  Record,
  RecordBuffer,
  RecordOp,
  RecordSink,
  TimeBuckets,
  TimedValue
}
import io.bucketstate.table.entry.{Entry, MergeChain, Slots, Stamp}
import io.bucketstate.table.index.FamilyIndex

/**
 * A bucket while it is being loaded, seen by nobody else: first what the cold part has, in a whole bucket, then
 * what was changed since. For one thread.
 *
 * What has expired is as good as removed.
 *
 * @param newIndex makes the bucket's index, null where there is none
 * @param times   of the version it is loaded at; null where records do not expire, or others look at that
 * @param expected keys, about; 0 if that is not known
 * @param isWhole if not, it is handed the changes alone
 * @param mostBytes that a key and the values that were appended to it may take
 */
private[table] final class BucketBuilder(
    number: Int,
    spec: FamilySpec,
    assigner: BucketAssigner,
    newIndex: () => FamilyIndex,
    times: TimeBuckets,
    expected: Int,
    isWhole: Boolean = true,
    mostBytes: Int = Record.MaxLength
) extends RecordSink {
  import BucketBuilder._

  private[this] val key = new RecordBuffer(assigner)
  private[this] var keyCount = 0L
  private[this] var behind = Option.empty[ColdState]
  private[this] val kept = mutable.ArrayBuffer.empty[Entry]

  val bucket: Bucket = new Bucket(newIndex, isWhole, spec.expiry.isDefined, expected)

  def keys: Long = keyCount

  /** Removals that the bucket keeps because of the cold part. */
  def removals: Seq[Entry] = kept.toSeq

  /**
   * What follows are changes.
   *
   * @param cold what they are newer than, which may have to be hidden
   */
  def changesOf(cold: Option[ColdState]): Unit = behind = cold

  private def areAboveCold: Boolean = behind.isDefined

  /** Nothing follows any more. */
  def done(): Unit = bucket.trim()

  override def apply(record: Array[Byte], op: Byte): Unit = {
    key.keyOf(record, 0, spec.bucketKey)
    if (key.bucket != number) {
      throw new CorruptException(
        "A data file of the state",
        s"expected a key of bucket $number of column family '${spec.name}', found one of ${key.bucket}",
        "Restore the checkpoint from a backup, or start from a new checkpoint location."
      )
    }
    val i = bucket.indexOf(key)
    if (op == RecordOp.Remove || (times != null && !times.shows(record))) remove(i, record)
    else if (i < 0) {
      if (op == RecordOp.Merge && !isWhole) appendToCold(record) else add(record)
    } else if (op == RecordOp.Merge && Slots.exists(bucket.at(i))) merge(i, record)
    else replace(i, record)
  }

  private def add(record: AnyRef): Unit = {
    bucket.insert(key.hash, record, startOf(record), stamp)
    if (Slots.exists(record)) keyCount += 1
    bucket.charge(Slots.heap(record))
  }

  private def stamp: Int = if (areAboveCold) Stamp.of(Loaded) else Stamp.AsCold

  /** The bucket has nothing of the key yet, but what it is appended to may lie behind it. */
  private def appendToCold(record: Array[Byte]): Unit = {
    val there = behind.fold[Array[Byte]](null)(_.find(spec.id, key))
    add(if (there == null) record else there)
    if (there != null) merge(bucket.indexOf(key), record)
  }

  private def merge(i: Int, record: Array[Byte]): Unit = {
    val before = bucket.at(i)
    // The key is in both, and once in what they come to.
    val length = record.length.toLong - Record.keyEnd(record) + (before match {
      case entry: Entry => MergeChain.length(entry)
      case whole        => Slots.recordOf(whole).length.toLong
    })
    if (length > mostBytes)
      throw Record.tooLong(s"column family '${spec.name}'", length, mostBytes)
    val merged = MergeChain.onto(before, record, key.hash, number, Loaded)
    MergeChain.markSettled(merged)
    replace(i, merged)
  }

  private def replace(i: Int, slot: AnyRef): Unit = {
    if (!Slots.exists(bucket.at(i))) keyCount += 1
    if (!Slots.exists(slot)) keyCount -= 1
    bucket.setStamp(i, stamp)
    bucket.charge(MergeChain.heap(slot, null) - MergeChain.heap(bucket.at(i), null))
    bucket.replace(i, slot)
    bucket.setStart(i, startOf(slot))
  }

  private def startOf(slot: AnyRef): Long = slot match {
    case record: Array[Byte] if spec.expiry.isDefined => TimedValue.startOf(record)
    case _                                            => TimedValue.Untimed
  }

  private def remove(i: Int, record: Array[Byte]): Unit =
    if (i < 0) {
      // Where the bucket is whole, neither the cold part nor a change has the key.
      if (!isWhole) hide(i, record)
    } else if (areAboveCold) hide(i, record)
    else {
      bucket.charge(-MergeChain.heap(bucket.at(i), null))
      bucket.free(i)
      keyCount -= 1
    }

  /** A removal stays in the slot as long as the cold part may have the key. */
  private def hide(i: Int, record: Array[Byte]): Unit = {
    val entry = removal(record)
    if (i < 0) add(entry) else replace(i, entry)
    kept += entry
  }

  private def removal(record: Array[Byte]): Entry =
    new Entry(
      key.hash,
      number,
      Loaded,
      bare(record),
      ofRemoval = true,
      ofMerge = false,
      null
    )

  /** The key alone, which is all of a record that says that it was removed. */
  private def bare(record: Array[Byte]): Array[Byte] = {
    val end = Record.keyEnd(record)
    if (end == record.length) record else Arrays.copyOf(record, end)
  }
}

/**
 * What the cold part of a floor has of a bucket, read ahead: seen by nobody until the writer makes it part of a bucket.
 *
 * @param floor version of the cold part
 */
private[table] final class FilledBucket(val floor: Long, val bucket: Bucket) {

  /** The heap that it takes while it is no part of another, in bytes. */
  val heap: Long = bucket.heap
}

private[table] object BucketBuilder {

  /** Keys of each of so many buckets, if all are alike. */
  def expected(keys: Option[Long], numBuckets: Int): Int =
    keys.fold(0)(n => Math.min(n / numBuckets, MostExpected).toInt)

  /** Entries count versions from the base version, which is where the bucket is loaded at. */
  private final val Loaded = 0

  /** What is said of a number of keys takes memory before any of them is there. */
  private final val MostExpected = 1L << 20
}
