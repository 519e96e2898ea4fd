package io.bucketstate.table

import java.util.concurrent.atomic.{AtomicInteger, AtomicLong, AtomicReferenceArray}
import java.util.{Arrays => JArrays, Iterator => JIterator}

import io.bucketstate.bucket.BucketAssigner

/**
 * [[FamilyState]] of a [[VersionedTable]]: the buckets of one column family and their open changes.
 *
 * @param loader where the buckets come from
 */
private[table] final class FamilyTable(
    val spec: FamilySpec,
    assigner: BucketAssigner,
    table: VersionedTable,
    loader: BucketLoader
) extends FamilyState {
  import FamilyTable._
  import Slots._

  private[this] val numBuckets = assigner.numBuckets
  private[this] val multiValued = spec.multiValued
  private[this] val buckets = new AtomicReferenceArray[Bucket](numBuckets) // null: not loaded
  private[this] val touched =
    new Array[Boolean](numBuckets) // each guarded by the lock of its bucket
  private[this] val missing = new AtomicInteger(numBuckets) // of those
  private[this] val loadedKeys = new AtomicLong
  private[this] val loadedBytes = new AtomicLong
  private[this] val index: FamilyIndex = spec.scans match {
    case Scans.Nothing  => null
    case Scans.Prefixes => new PrefixIndex(spec.bucketKey, assigner)
    case Scans.Ranges   => new OrderedIndex
  }
  private[this] var changes = new Array[Entry](16)
  private[this] var changeCount = 0
  private[this] var grouped: FamilyChanges = _ // the open changes by bucket, until the next write
  private[this] var keys = loader.keyCount(spec.id)
  private[this] var recordBytes = 0L

  if (keys == 0) {
    (0 until numBuckets).foreach(buckets.setPlain(_, new Bucket(index)))
    missing.set(0)
  }

  override def keyCount: Long = keys

  override def get(key: RecordBuffer, at: Long): Array[Byte] = {
    val there = buckets.getAcquire(key.bucket)
    if (there != null) visible(there.head(key), table.relative(at)) else getMissing(key, at)
  }

  override def contains(key: RecordBuffer, at: Long): Boolean = {
    val there = buckets.getAcquire(key.bucket)
    if (there != null) holds(there.head(key), table.relative(at)) else getMissing(key, at) != null
  }

  override def put(record: RecordBuffer): Unit = write(record, record.toRecord, removed = false)

  override def merge(record: RecordBuffer): Unit = {
    val bucket = this.bucket(record.bucket)
    val i = bucket.indexOf(record)
    if (i < 0 || !exists(bucket.at(i))) put(record)
    else {
      grouped = null
      val version = table.openVersion
      val (bytes, head) = (record.toRecord, bucket.at(i))
      val entry =
        new Entry(record.hash, record.bucket, version, bytes, false, isMerge = true, head)
      recordBytes += slotHeap(entry)
      bucket.replace(i, entry)
      if (head.isInstanceOf[Entry] && head.asInstanceOf[Entry].version == version) {
        entry.position = head.asInstanceOf[Entry].position
        changes(entry.position) = entry
      } else {
        list(entry)
        table.settleSome()
      }
    }
  }

  override def remove(key: RecordBuffer): Unit = {
    val bucket = this.bucket(key.bucket)
    val i = bucket.indexOf(key)
    if (i >= 0 && exists(bucket.at(i))) write(key, key.toKeyRecord, removed = true)
  }

  private def write(key: RecordBuffer, record: Array[Byte], removed: Boolean): Unit = {
    grouped = null
    val version = table.openVersion
    val bucket = this.bucket(key.bucket)
    val i = bucket.indexOf(key)
    val head = if (i >= 0) bucket.at(i) else null
    val own = head.isInstanceOf[Entry] && head.asInstanceOf[Entry].version == version
    if (own) {
      val before = head.asInstanceOf[Entry]
      val older = if (multiValued) MergeChain.below(before) else before.older
      val entry = new Entry(key.hash, key.bucket, version, record, removed, false, older)
      entry.position = before.position
      changes(before.position) = entry
      recordBytes += slotHeap(entry) -
        (if (multiValued) MergeChain.heap(before, older) else slotHeap(before))
      bucket.replace(i, entry)
    } else {
      val entry = new Entry(key.hash, key.bucket, version, record, removed, false, head)
      list(entry)
      recordBytes += slotHeap(entry)
      if (i >= 0) {
        bucket.replace(i, entry)
        if (!exists(head)) bucket.relink(i)
      } else bucket.insert(key.hash, entry)
      table.settleSome()
    }
    if (removed) keys -= 1 else if (!exists(head)) keys += 1
  }

  private def list(entry: Entry): Unit = {
    entry.position = changeCount
    if (changeCount == changes.length) changes = JArrays.copyOf(changes, changeCount * 2)
    changes(changeCount) = entry
    changeCount += 1
  }

  override def records(at: Long): RecordScan =
    new BucketIterator(bucket(_), 0, numBuckets, table.relative(at)).begun()

  override def recordsOf(bucket: Int, at: Long): RecordScan =
    new BucketIterator(this.bucket(_), bucket, bucket + 1, table.relative(at))
      .begun()

  override def prefixed(prefix: Array[Byte], at: Long): RecordScan = {
    requireIndex()
    if (!isResident) loadAll(spec.bucketKey.ofPrefix(prefix, assigner))
    scan(index.prefixed(prefix), at)
  }

  override def ranged(
      from: Array[Byte],
      until: Array[Byte],
      at: Long
  ): RecordScan = {
    requireIndex()
    if (!isResident) loadAll(spec.bucketKey.ofRange(from, until, assigner))
    scan(index.ranged(from, until), at)
  }

  override def removeRange(from: Array[Byte], until: Array[Byte]): Unit = {
    val key = new RecordBuffer(assigner)
    ranged(from, until, table.newest + 1).foreach { record =>
      key.keyOf(record, 0, spec.bucketKey)
      remove(key)
    }
  }

  private def requireIndex(): Unit = if (index == null) {
    throw new IllegalStateException(s"column family ${spec.name} has no index to scan by")
  }

  /** @param only the one bucket to load, or -1 for all */
  private def loadAll(only: Int): Unit =
    if (only >= 0) {
      load(only)
      ()
    } else (0 until numBuckets).foreach(load)

  private def scan(cells: JIterator[Cell], at: Long): RecordScan = {
    val gone = if (at > table.newest) table.relative(table.oldest) else -1
    new CellScan(index, cells, table.relative(at), gone).begun()
  }

  override def isResident: Boolean = missing.get == 0

  override def load(bucket: Int): Boolean = {
    val wasMissing = buckets.getAcquire(bucket) == null
    if (wasMissing) fetch(bucket)
    wasMissing
  }

  private def bucket(number: Int): Bucket = {
    val there = buckets.getAcquire(number)
    if (there != null) there
    else {
      table.touchedMissing()
      val loaded = fetch(number)
      table.beginWarmUp()
      loaded
    }
  }

  /**
   * The first get of a bucket that is not in memory looks its key up in the files, so that it need not
   * wait for the bucket. Nothing newer can be known of the key: a write would have loaded the bucket.
   */
  private def getMissing(key: RecordBuffer, at: Long): Array[Byte] = {
    val found = table.lockOf(key.bucket).synchronized {
      if (buckets.getAcquire(key.bucket) == null && !touched(key.bucket)) {
        touched(key.bucket) = true
        table.requireSound()
        try loader.find(spec.id, key)
        catch { case failure: Throwable => throw table.broke(failure) }
      } else visible(bucket(key.bucket).head(key), table.relative(at))
    }
    table.beginWarmUp()
    found
  }

  /** A bucket that is not in memory: whoever comes first loads it, others wait for that one. */
  private def fetch(number: Int): Bucket = table.lockOf(number).synchronized {
    val there = buckets.getAcquire(number)
    if (there != null) there
    else {
      table.requireSound()
      val filling = new BucketFilling(number, spec.bucketKey, assigner, index)
      try {
        loader.load(spec.id, number, filling)
        loadedKeys.addAndGet(filling.keys)
        // Everybody adds before counting down, so the last one sees all keys.
        if (missing.decrementAndGet() == 0) loader.verify(spec.id, loadedKeys.get)
      } catch {
        case failure: Throwable =>
          throw table.broke(failure)
      }
      loadedBytes.addAndGet(filling.bytes)
      buckets.setRelease(number, filling.bucket)
      filling.bucket
    }
  }

  /**
   * Hands over the open version's entries and starts a new list. By bucket when they were grouped
   * before, as a commit does: settling them later then stays in one bucket's arrays for a while, and
   * so in the processor's cache.
   */
  def takeChanges(): Array[Entry] = {
    val taken = if (grouped != null) grouped.entries else JArrays.copyOf(changes, changeCount)
    // After a burst the list shrinks step by step, lest it is grown again for every second batch.
    if (changeCount * 8 < changes.length && changes.length > FewChanges)
      changes = new Array[Entry](changes.length / 2)
    else JArrays.fill(changes.asInstanceOf[Array[AnyRef]], 0, changeCount, null)
    changeCount = 0
    grouped = null
    taken
  }

  /** The open version's entries by bucket (a counting sort: no comparisons). */
  def groupedChanges: FamilyChanges = {
    if (multiValued) joinChanges()
    val start = new Array[Int](numBuckets + 1)
    var i = 0
    while (i < changeCount) {
      start(changes(i).bucket + 1) += 1
      i += 1
    }
    var b = 0
    while (b < numBuckets) {
      start(b + 1) += start(b)
      b += 1
    }
    val next = JArrays.copyOf(start, numBuckets)
    val entries = new Array[Entry](changeCount)
    i = 0
    while (i < changeCount) {
      val entry = changes(i)
      entries(next(entry.bucket)) = entry
      next(entry.bucket) += 1
      i += 1
    }
    grouped = new FamilyChanges(spec.descriptor, entries, start, keys)
    grouped
  }

  /** One entry for each key that was written, also if it was appended to again and again. */
  private def joinChanges(): Unit = {
    var i = 0
    while (i < changeCount) {
      val entry = changes(i)
      if (MergeChain.isSplit(entry)) {
        val joined = MergeChain.joined(entry)
        val bucket = buckets.getPlain(entry.bucket)
        bucket.replace(bucket.indexOf(entry), joined)
        joined.position = i
        changes(i) = joined
        recordBytes += slotHeap(joined) - MergeChain.heap(entry, joined.older)
      }
      i += 1
    }
  }

  /** Nothing reads below the entry's version any more: its record takes its place. */
  def settle(entry: Entry): Unit = {
    val bucket = buckets.getPlain(entry.bucket)
    val i = bucket.indexOf(entry)
    if (i < 0) throw new IllegalStateException("a committed entry is not in its table")
    val settled =
      if (entry.isRemoval) null
      else if (entry.isMerge) MergeChain.settled(entry)
      else entry.bytes
    recordBytes += MergeChain.heap(settled, null) - MergeChain.heap(entry, null)
    val head = bucket.at(i)
    if (head eq entry) {
      if (settled != null) bucket.replace(i, settled)
      else bucket.free(i)
    } else {
      var newer = head.asInstanceOf[Entry]
      while (newer.older ne entry) newer = newer.older.asInstanceOf[Entry]
      newer.older = settled
    }
  }

  /** Takes back entries that are the newest of their keys. */
  def undo(entries: Array[Entry], keysBefore: Long): Unit = {
    entries.foreach { entry =>
      val bucket = buckets.getPlain(entry.bucket)
      val i = bucket.indexOf(entry)
      if (i < 0 || (bucket.at(i) ne entry)) {
        throw new IllegalStateException("an entry to undo is not the newest of its key")
      }
      val older = if (multiValued) MergeChain.below(entry) else entry.older
      recordBytes -= MergeChain.heap(entry, older)
      if (older != null) bucket.replace(i, older)
      else bucket.free(i)
    }
    keys = keysBefore
  }

  def memoryBytes: Long = {
    var slots = 0L
    var b = 0
    while (b < numBuckets) {
      val bucket = buckets.getAcquire(b)
      if (bucket != null) slots += bucket.capacity * SlotSize + BucketSize
      b += 1
    }
    val indexed = if (index == null) 0L else index.heap(keys)
    recordBytes + loadedBytes.get + slots + indexed + changes.length * 4L
  }
}

private object FamilyTable {

  // Sizes on a 64-bit JVM with compressed pointers, objects aligned to 8 bytes.
  private final val EntrySize = 40L
  private final val SlotSize = 8L
  private final val BucketSize = 112L

  private final val FewChanges = 1024

  private def arraySize(array: Array[Byte]): Long = (array.length + 16L + 7L) & ~7L

  /** Of an entry without what it stands on, or of a record. */
  def slotHeap(slot: AnyRef): Long = slot match {
    case entry: Entry => arraySize(entry.bytes) + EntrySize
    case record       => arraySize(record.asInstanceOf[Array[Byte]])
  }
}
