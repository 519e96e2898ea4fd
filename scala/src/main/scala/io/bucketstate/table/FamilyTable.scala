package io.bucketstate.table

import java.util.{Iterator => JIterator}

import io.bucketstate.bucket.BucketAssigner

/** [[FamilyState]] on the heap: reads and writes one column family, and settles and undoes what it wrote. */
private[table] final class FamilyTable(
    val spec: FamilySpec,
    assigner: BucketAssigner,
    versions: Versions,
    backlog: SettlingBacklog,
    loading: TableLoading
) extends FamilyState
    with Settler {
  import Slots._

  private[this] val multiValued = spec.multiValued
  private[this] val index: FamilyIndex = spec.scans match {
    case Scans.Nothing  => null
    case Scans.Prefixes => new PrefixIndex(spec.bucketKey, assigner)
    case Scans.Ranges   => new OrderedIndex
  }
  private[this] val buckets = new FamilyBuckets(spec, assigner, index, loading)
  private[this] val changes = new ChangeList(assigner.numBuckets)
  private[this] var keys = buckets.initialKeys
  private[this] var recordBytes = 0L
  private[this] var cached = 0 // of no meaning: what was read ahead

  override def keyCount: Long = keys

  override def get(key: RecordBuffer, at: Long): Array[Byte] = {
    val there = buckets.loaded(key.bucket)
    val version = versions.relative(at)
    if (there != null) Visibility.record(there.head(key), version) else buckets.find(key, version)
  }

  override def contains(key: RecordBuffer, at: Long): Boolean = {
    val there = buckets.loaded(key.bucket)
    val version = versions.relative(at)
    if (there != null) Visibility.holds(there.head(key), version)
    else buckets.find(key, version) != null
  }

  override def put(record: RecordBuffer): Unit = write(record, record.toRecord, removed = false)

  override def merge(record: RecordBuffer): Unit = {
    val bucket = buckets.touched(record.bucket)
    val i = bucket.indexOf(record)
    if (i < 0 || !exists(bucket.at(i))) put(record)
    else {
      val version = versions.open
      val (bytes, head) = (record.toRecord, bucket.at(i))
      val entry =
        new Entry(record.hash, record.bucket, version, bytes, false, isMerge = true, head)
      recordBytes += heap(entry)
      bucket.replace(i, entry)
      if (isOf(head, version)) changes.replace(head.asInstanceOf[Entry], entry)
      else {
        changes.add(entry)
        backlog.settleSome()
      }
    }
  }

  override def remove(key: RecordBuffer): Unit = {
    val bucket = buckets.touched(key.bucket)
    val i = bucket.indexOf(key)
    if (i >= 0 && exists(bucket.at(i))) write(key, key.toKeyRecord, removed = true)
  }

  private def write(key: RecordBuffer, record: Array[Byte], removed: Boolean): Unit = {
    val version = versions.open
    val bucket = buckets.touched(key.bucket)
    val i = bucket.indexOf(key)
    val head = if (i >= 0) bucket.at(i) else null
    if (isOf(head, version)) {
      val before = head.asInstanceOf[Entry]
      val older = if (multiValued) MergeChain.below(before) else before.older
      val entry = new Entry(key.hash, key.bucket, version, record, removed, false, older)
      changes.replace(before, entry)
      recordBytes += heap(entry) -
        (if (multiValued) MergeChain.heap(before, older) else heap(before))
      bucket.replace(i, entry)
    } else {
      val entry = new Entry(key.hash, key.bucket, version, record, removed, false, head)
      changes.add(entry)
      recordBytes += heap(entry)
      if (i >= 0) {
        bucket.replace(i, entry)
        if (!exists(head)) bucket.relink(i)
      } else bucket.insert(key.hash, entry)
      backlog.settleSome()
    }
    if (removed) keys -= 1 else if (!exists(head)) keys += 1
  }

  /** Whether a version wrote what a slot holds. */
  private def isOf(slot: AnyRef, version: Int): Boolean =
    slot.isInstanceOf[Entry] && slot.asInstanceOf[Entry].version == version

  override def records(at: Long): RecordScan =
    new BucketIterator(buckets.touched(_), 0, assigner.numBuckets, versions.relative(at)).begun()

  override def recordsOf(bucket: Int, at: Long): RecordScan =
    new BucketIterator(buckets.touched(_), bucket, bucket + 1, versions.relative(at)).begun()

  override def prefixed(prefix: Array[Byte], at: Long): RecordScan = {
    requireIndex()
    buckets.loadFor(spec.bucketKey.ofPrefix(prefix, assigner))
    scan(index.prefixed(prefix), at)
  }

  override def ranged(from: Array[Byte], until: Array[Byte], at: Long): RecordScan = {
    requireIndex()
    buckets.loadFor(spec.bucketKey.ofRange(from, until, assigner))
    scan(index.ranged(from, until), at)
  }

  override def removeRange(from: Array[Byte], until: Array[Byte]): Unit = {
    val key = new RecordBuffer(assigner)
    ranged(from, until, versions.newest + 1).foreach { record =>
      key.keyOf(record, 0, spec.bucketKey)
      remove(key)
    }
  }

  private def requireIndex(): Unit = if (index == null) {
    throw new IllegalStateException(s"column family ${spec.name} has no index to scan by")
  }

  private def scan(cells: JIterator[Cell], at: Long): RecordScan = {
    val gone = if (at > versions.newest) versions.relative(versions.oldest) else -1
    new CellScan(index, cells, versions.relative(at), gone).begun()
  }

  override def isResident: Boolean = buckets.isResident

  override def load(bucket: Int): Boolean = buckets.load(bucket)

  /** Hands over the open version's entries. */
  def takeChanges(): Array[Entry] = changes.take()

  /** The open version's changes by bucket. */
  def groupedChanges: FamilyChanges = {
    if (multiValued) changes.rewrite(joined)
    changes.group(spec.descriptor, keys)
  }

  /** One entry for each key that was written, also if it was appended to again and again. */
  private def joined(entry: Entry): Entry =
    if (!MergeChain.isSplit(entry)) entry
    else {
      val joined = MergeChain.joined(entry)
      val bucket = buckets.known(entry.bucket)
      bucket.replace(bucket.indexOf(entry), joined)
      recordBytes += heap(joined) - MergeChain.heap(entry, joined.older)
      joined
    }

  override def settle(entries: Array[Entry], from: Int, until: Int): Unit = {
    var sum = cached
    var i = from
    while (i < until) {
      val entry = entries(i)
      sum += buckets.known(entry.bucket).touch(entry.hash)
      if (entry.older.isInstanceOf[Entry]) sum += 1
      i += 1
    }
    cached = sum
    i = from
    while (i < until) {
      settle(entries(i))
      i += 1
    }
  }

  private def settle(entry: Entry): Unit = {
    val bucket = buckets.known(entry.bucket)
    val i = bucket.indexOf(entry)
    if (i < 0) throw new IllegalStateException("a committed entry is not in its table")
    val settled =
      if (entry.isRemoval) null
      else if (entry.isMerge) MergeChain.settled(entry)
      else entry.bytes
    recordBytes -= freed(entry, settled)
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

  /** Heap that settling gives back. In the common case its record, which lies elsewhere, is not looked at. */
  private def freed(entry: Entry, settled: AnyRef): Long =
    if (settled eq entry.bytes) EntrySize + MergeChain.heap(entry.older, null)
    else MergeChain.heap(entry, null) - MergeChain.heap(settled, null)

  /** Takes back entries that are the newest of their keys. */
  def undo(entries: Array[Entry], keysBefore: Long): Unit = {
    entries.foreach { entry =>
      val bucket = buckets.known(entry.bucket)
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
    val indexed = if (index == null) 0L else index.heap(keys)
    recordBytes + buckets.heap + indexed + changes.heap
  }
}
