package io.bucketstate.table

import io.bucketstate.record.{
  BucketAssigner,
  BucketResidence,
  FamilyChanges,
  FamilySpec,
  Record,
  RecordBuffer,
  RecordOp,
  Scans,
  TimedValue
}
import io.bucketstate.table.bucket.Bucket
import io.bucketstate.table.cold.{BucketFills, FamilyBuckets, FamilyCold, Floor, TableLoading}
import io.bucketstate.table.entry.{Entry, MergeChain, Slots, Visibility}
import io.bucketstate.table.index.{FamilyIndex, OrderedIndex, PrefixIndex}
import io.bucketstate.table.scan.{BucketIterator, OpenScans, RecordScan}
import io.bucketstate.table.version.{ChangeList, KeyCount, Versions}

/**
 * [[FamilyState]] on the heap: reads and writes one column family.
 *
 * @param countsExactly whether a key that memory does not know is looked up when it is written, for the number of keys;
 *                      in a family whose records expire, or that is scanned by a part of its keys, it is in any case
 * @param mostBytes     that a key and the values that were appended to it may take
 */
private[table] final class FamilyTable(
    val spec: FamilySpec,
    assigner: BucketAssigner,
    versions: Versions,
    backlog: SettlingBacklog,
    evicting: EvictionBacklog,
    loading: TableLoading,
    floor: Floor,
    countsExactly: Boolean,
    mostBytes: Int
) extends FamilyState {
  import Slots._

  private[this] val multiValued = spec.multiValued
  private[this] val newIndex: () => FamilyIndex = spec.scans match {
    case Scans.Nothing  => null
    case Scans.Prefixes => () => new PrefixIndex(spec.bucketKey, assigner)
    case Scans.Ranges   => () => new OrderedIndex
  }
  private[this] val cold = new FamilyCold(spec, assigner, floor, loading)
  private[this] val buckets =
    new FamilyBuckets(spec, assigner, newIndex, cold, floor, loading, mostBytes)
  private[this] val filling = new BucketFills(spec, assigner, buckets, cold, floor, newIndex)
  private[this] val openScans = new OpenScans
  private[this] val scanning =
    new FamilyScans(spec, assigner, buckets, cold, versions, loading, openScans)
  private[this] val lookingUp = new FamilyLookups(spec, assigner, buckets, loading, get(_, _))
  private[this] val changes = new ChangeList(assigner.numBuckets)
  private[this] val times = // null where records do not expire
    spec.expiry.map(new FamilyTimes(_, versions, buckets.initialTimes)).orNull
  private[this] val sweep = // null where nothing expires by itself: what was removed is gone
    spec.expiry
      .filter(_.after.isDefined)
      .map(_ => new ExpirySweep(buckets, floor, assigner.numBuckets))
      .orNull
  private[this] val keys = new KeyCount(() => buckets.initialKeys) // not used where records expire
  private[this] val writesBlind = !countsExactly && times == null && newIndex == null
  private[this] val eviction = new FamilyEviction(spec, assigner, buckets, floor, versions)

  /** Settles what this family's versions wrote. */
  val settling: FamilySettling = new FamilySettling(buckets, cold, floor)

  override def keyCount: Option[Long] = if (times == null) keys.keys else Some(times.keyCount)

  /** What [[undo]] goes back to. */
  def countMark: Long = keys.mark

  override def expiry: ExpiryFigures =
    if (times == null) ExpiryFigures.None else times.figures

  override def writeTime: Long = if (times == null) TimedValue.Never else times.writeTime

  override def get(key: RecordBuffer, at: Long): Array[Byte] = {
    val version = versions.relative(at)
    val seen = Visibility.record(search(key, at, version), version)
    val record = if (seen eq Slots.Unknown) cold.find(key) else seen
    if (times == null || record == null || times.at(at).shows(record)) record else null
  }

  override def getAll(keys: Array[Array[Byte]], at: Long): Array[Array[Byte]] =
    lookingUp.all(keys, at)

  override def contains(key: RecordBuffer, at: Long): Boolean =
    if (times != null) get(key, at) != null
    else {
      val version = versions.relative(at)
      val newest = Visibility.newest(search(key, at, version), version)
      if (newest eq Slots.Unknown) cold.find(key) != null else Slots.exists(newest)
    }

  /** What leads to the record of a key: what its slot holds, or the record as files have it. */
  private def search(key: RecordBuffer, at: Long, version: Int): AnyRef = {
    val there = buckets.loaded(key.bucket)
    buckets.use(key.bucket, version)
    if (there != null) searchIn(there, key, at)
    else {
      val first = buckets.findFirst(key)
      if (first ne FamilyBuckets.InBucket) first
      else searchIn(buckets.touched(key.bucket), key, at)
    }
  }

  private def searchIn(bucket: Bucket, key: RecordBuffer, at: Long): AnyRef = {
    val arrays = bucket.capture()
    val head = arrays.head(key)
    if (head == null && !arrays.isWhole) findCold(key, at) else head
  }

  /** The record of a key that memory knows nothing of: it has not changed since the floor. */
  private def findCold(key: RecordBuffer, at: Long): Array[Byte] =
    if (at > versions.newest) cold.findAndKeep(key) else cold.find(key)

  override def put(record: RecordBuffer): Unit = {
    val bucket = buckets.touched(record.bucket)
    val i = bucket.indexOf(record)
    val head = replaced(bucket, i, record)
    val bytes = record.toRecord
    if (times == null || times.take(bytes, shownIn(head)))
      write(bucket, i, head, record, bytes, RecordOp.Put)
  }

  /** What the open version has of a key whose slot holds this, null if nothing, in a family whose records expire. */
  private def shownIn(head: AnyRef): Array[Byte] =
    if (!Slots.exists(head)) null
    else {
      val record = Slots.recordOf(head)
      if (times.shows(record)) record else null
    }

  /** Whether the open version has the key whose slot holds this. */
  private def exists(head: AnyRef): Boolean =
    if (times == null) Slots.exists(head) else shownIn(head) != null

  override def merge(record: RecordBuffer): Unit = {
    val bucket = buckets.touched(record.bucket)
    val i = bucket.indexOf(record)
    val head = known(bucket, i, record)
    val op = if (exists(head)) RecordOp.Merge else RecordOp.Put
    write(bucket, i, head, record, record.toRecord, op)
  }

  private def append(
      version: Int,
      bucket: Bucket,
      i: Int,
      head: AnyRef,
      key: RecordBuffer,
      record: Array[Byte]
  ): Unit = {
    val entry =
      new Entry(
        key.hash,
        key.bucket,
        version,
        record,
        ofRemoval = false,
        ofMerge = true,
        head,
        openScans.current
      )
    if (isOf(head, version)) changes.replace(head.asInstanceOf[Entry], entry)
    else changes.add(entry)
    bucket.charge(heap(entry))
    if (i >= 0) bucket.replace(i, entry) else insert(bucket, entry, head)
  }

  override def remove(key: RecordBuffer): Unit = {
    val bucket = buckets.touched(key.bucket)
    val i = bucket.indexOf(key)
    val head = replaced(bucket, i, key)
    if (exists(head)) write(bucket, i, head, key, key.toKeyRecord, RecordOp.Remove)
  }

  /** What a write of a key whose slot is `i` stands on: it does not need the record. */
  private def replaced(bucket: Bucket, i: Int, key: RecordBuffer): AnyRef =
    if (writesBlind && i < 0 && !bucket.isWhole) cold.ruleOutOnce(key) else known(bucket, i, key)

  /** What is known of a key whose slot is `i`, and otherwise what the cold part has. */
  private def known(bucket: Bucket, i: Int, key: RecordBuffer): AnyRef =
    if (i >= 0) bucket.at(i)
    else if (bucket.isWhole) null
    else cold.findOnce(key)

  /** An entry, and what is due beside it; the table is broken by whatever goes wrong between the two. */
  private def write(
      bucket: Bucket,
      i: Int,
      head: AnyRef,
      key: RecordBuffer,
      record: Array[Byte],
      op: Byte
  ): Unit = {
    val version = beginWrite(key)
    try {
      if (op == RecordOp.Merge) append(version, bucket, i, head, key, record)
      else writeAt(version, bucket, i, head, key, record, op == RecordOp.Remove)
      if (!isOf(head, version)) afterNewEntry()
    } catch {
      case e: Throwable =>
        loading.broken(e)
        throw e
    }
  }

  private def writeAt(
      version: Int,
      bucket: Bucket,
      i: Int,
      head: AnyRef,
      key: RecordBuffer,
      record: Array[Byte],
      removed: Boolean
  ): Unit = {
    val start = count(head, record, removed)
    if (isOf(head, version)) {
      val before = head.asInstanceOf[Entry]
      val older = stillNeeded(before)
      val entry =
        new Entry(key.hash, key.bucket, version, record, removed, false, older, openScans.current)
      changes.replace(before, entry)
      bucket.charge(heap(entry) - MergeChain.heap(before, older))
      bucket.replace(i, entry)
      bucket.setStart(i, start)
    } else {
      val entry =
        new Entry(key.hash, key.bucket, version, record, removed, false, head, openScans.current)
      changes.add(entry)
      bucket.charge(heap(entry))
      if (i >= 0) {
        bucket.replace(i, entry)
        bucket.setStart(i, start)
        if (!Slots.exists(head)) bucket.relink(i)
      } else insert(bucket, entry, head, start)
    }
  }

  /** A key whose slot held this has another record, or is removed. The time of the record, if it has one. */
  private def count(head: AnyRef, record: Array[Byte], removed: Boolean): Long =
    if (times != null) times.replaced(shownIn(head), if (removed) null else record)
    else {
      if (head eq Slots.Unknown) keys.giveUp()
      else if (removed) keys.add(-1)
      else if (!Slots.exists(head)) keys.add(1)
      TimedValue.Untimed
    }

  /** The stamp of the open version. Throws, and nothing is changed, if there is no room for more changes. */
  private def beginWrite(key: RecordBuffer): Int = {
    val version = versions.open
    buckets.use(key.bucket, version)
    if (changes.isDue) loading.requireRoom(changes.accounted())
    version
  }

  /** @param found what the entry stands on, which the cold part had */
  private def insert(
      bucket: Bucket,
      entry: Entry,
      found: AnyRef,
      start: Long = TimedValue.Untimed
  ): Unit = {
    if (found != null) {
      bucket.charge(heap(found))
      changes.standOn(heap(found))
    }
    bucket.insert(entry.hash, entry, start)
  }

  /** What is due beside each new entry. No slot's index is valid after it. */
  private def afterNewEntry(): Unit = {
    backlog.settleSome()
    evicting.evictSome()
    if (sweep != null) sweep.some(times.at(versions.oldest))
  }

  /** What stays below a write that takes the place of one of its version: what older versions or open scans see. */
  private def stillNeeded(before: Entry): AnyRef = {
    var current: AnyRef = before
    while (
      isOf(current, before.version) && !openScans.mayBeSeen(current.asInstanceOf[Entry].moment)
    )
      current = current.asInstanceOf[Entry].older
    current
  }

  /** Whether a version wrote what a slot holds. */
  private def isOf(slot: AnyRef, version: Int): Boolean =
    slot.isInstanceOf[Entry] && slot.asInstanceOf[Entry].version == version

  override def numBuckets: Int = assigner.numBuckets

  override def records(at: Long): RecordScan =
    scan(0, assigner.numBuckets, at)

  override def recordsOf(bucket: Int, at: Long): RecordScan =
    scan(bucket, bucket + 1, at)

  private def scan(from: Int, until: Int, at: Long): RecordScan =
    new BucketIterator(
      buckets.touched(_),
      (number, decided) => loading.ahead(cold.bucketWithout(number, decided)),
      from,
      until,
      versions.relative(at),
      if (at > versions.newest) openScans else null,
      if (times == null) null else times.at(at)
    ).begun()

  override def prefixed(prefix: Array[Byte], at: Long): RecordScan = {
    requireIndex()
    scanning.prefixed(prefix, at)
  }

  override def ranged(from: Array[Byte], until: Array[Byte], at: Long): RecordScan = {
    requireIndex()
    scanning.ranged(from, until, at)
  }

  override def removeRange(from: Array[Byte], until: Array[Byte]): Unit = {
    val key = new RecordBuffer(assigner)
    ranged(from, until, versions.newest + 1).foreach { record =>
      key.keyOf(record, 0, spec.bucketKey)
      remove(key)
    }
  }

  private def requireIndex(): Unit = if (newIndex == null) {
    throw new IllegalStateException(s"column family ${spec.name} has no index to scan by")
  }

  override def isResident: Boolean = buckets.isResident

  override def isLoaded: Boolean = buckets.isLoaded

  override def load(bucket: Int): Boolean = buckets.load(bucket)

  override def canFill: Boolean = filling.isPossible

  override def fill(bucket: Int): Boolean = filling.read(bucket)

  override def loadsWhole: Boolean = newIndex != null || multiValued

  override def evict(number: Int): Long = eviction.evict(number)

  override def residences: Seq[BucketResidence] = eviction.residences

  override def notWhole: Int = buckets.notWhole

  override def lookUps: Long = cold.lookUps

  /** What the open version's reads have found in the cold part stays in memory, as far as it is not there yet. */
  def keepFound(): Unit = cold.takeFound { record =>
    val key = new RecordBuffer(assigner)
    key.keyOf(record, 0, spec.bucketKey)
    val bucket = buckets.known(key.bucket)
    if (!bucket.isWhole && bucket.indexOf(key) < 0) {
      bucket.insert(key.hash, record)
      bucket.charge(heap(record))
    }
  }

  /** There is a higher floor. */
  def floorRaised(): Unit = backlog.add(settling, cold.raised())

  /** Hands over the open version's entries. */
  def takeChanges(): Array[Entry] = {
    openScans.forget()
    changes.take()
  }

  /** The open version's changes by bucket. */
  def groupedChanges: FamilyChanges = {
    if (multiValued) changes.rewrite(joined)
    changes.group(spec.descriptor, keyCount, Option(times).map(_.current))
  }

  /**
   * One entry for each key that was written, also if it was appended to again and again. Throws if its values are more
   * than can be kept: nobody could read them.
   */
  private def joined(entry: Entry): Entry = {
    if (entry.isMerge) {
      val length = MergeChain.length(entry)
      if (length > mostBytes)
        throw Record.tooLong(s"column family '${spec.name}'", length, mostBytes)
    }
    if (!MergeChain.isSplit(entry)) entry
    else {
      val joined = MergeChain.joined(entry)
      val bucket = buckets.known(entry.bucket)
      bucket.replace(bucket.indexOf(entry), joined)
      bucket.charge(heap(joined) - MergeChain.heap(entry, joined.older))
      joined
    }
  }

  /** Takes back entries that are the newest of their keys. */
  def undo(entries: Array[Entry], countBefore: Long): Unit = {
    settling.undo(entries)
    keys.undo(countBefore)
  }

  /** Versions above the newest were undone. */
  def undone(): Unit = if (times != null) times.undone()

  /**
   * A version is about to be opened.
   *
   * @param now seconds since 1970
   */
  def begin(now: Long): Unit = {
    cold.forgetFound()
    settling.begin(keyCount)
    filling.take()
    if (times != null) times.begin(now)
  }

  /** The open version is complete. */
  def commit(): Unit = if (times != null) times.commit()

  def memoryBytes: Long = buckets.heap + changes.heap + cold.heap + filling.heap
}
