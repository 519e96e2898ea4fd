package io.bucketstate.table.bucket

import io.bucketstate.record.{KeyedHash, RecordBuffer, TimeBuckets, TimedValue}
import io.bucketstate.table.entry.{Entry, Stamp}
import io.bucketstate.table.index.{Cell, FamilyIndex}

/**
 * One bucket: an open-addressing hash table (linear probing) from keys to the newest thing known of
 * them, which is a settled record (`Array[Byte]`) or an [[Entry]] with its chain of older ones.
 *
 * Threads: one writer, any number of readers, no locks. A reader sees, for every key, the state
 * before or after a concurrent write, whole: slots are published with release and read with acquire
 * semantics, and a slot is filled before its hash is set and emptied after its hash is cleared. A
 * freed slot keeps a marker where a probe may have to go on, so that no key ever moves while readers probe; the
 * others go when the bucket is rebuilt into new arrays, and readers of the old arrays go on with those.
 *
 * In a family that is scanned by a part of its keys a slot holds a [[Cell]], which is in the bucket's index, too; the
 * bucket keeps the two together. Whoever captured arrays has the index that belongs to them.
 *
 * Whoever chooses keys can choose such that collide. Where more of them do than chance makes collide, the bucket places its keys
 * by a hash that only this process knows ([[KeyedHash]]). So a probe is at most some thousand hashes and some tens of records
 * long, whatever the keys are; a bucket whose keys nobody chose pays one branch for each probe and insert.
 *
 * The hashes lie beside the slots, so probing touches a record only when 32 bits of hash agree, and a
 * rebuild touches no record at all. Only one bucket is ever rebuilt at a time: that is how growth
 * costs no pause.
 *
 * A bucket need not be whole: see [[SlotArrays.isWhole]]. It becomes so, or stops being so, with other arrays,
 * so who captured some knows of them what holds.
 *
 * @param newIndex makes an index, null where there is none
 * @param isTimed  whether records expire
 * @param expected keys that it begins with room for
 */
private[table] final class Bucket(
    newIndex: () => FamilyIndex,
    startsWhole: Boolean = true,
    isTimed: Boolean = false,
    expected: Int = 0
) {
  import Bucket._
  import SlotArrays._

  private[this] val isIndexed = newIndex != null
  @volatile private[this] var arrays: SlotArrays =
    if (expected == 0) SlotArrays.empty(startsWhole, anIndex())
    else new SlotArrays(holding(expected), startsWhole, isTimed, anIndex())
  private[this] var used = 0 // slots that are not empty, markers included
  private[this] var live = 0 // slots that hold something
  private[this] var records = 0L // bytes of heap of what the slots lead to
  private[this] var eviction = Bucket.NoEviction
  private[this] var wholeUntil = Int.MinValue
  private[this] var dice = KeyedHash.secret // see isWatched

  /** Index of the key's slot, or -1. Writer only; valid until the next insert. */
  def indexOf(key: RecordBuffer): Int = arrays.indexOf(key)

  /** Index of the slot in whose chain `entry` is, or -1. Writer only. */
  def indexOf(entry: Entry): Int = arrays.indexOf(entry)

  /** See [[SlotArrays.touch]]. */
  def touch(entry: Entry): Int = arrays.touch(entry)

  /** What the slot leads to. Writer only. */
  def at(slot: Int): AnyRef = {
    val a = arrays
    a.content(a.slots.getPlain(slot))
  }

  /** Puts something newer (or equivalent) into the slot of the same key. Writer only. */
  def replace(slot: Int, value: AnyRef): Unit =
    if (isIndexed) cellAt(slot).content = value else arrays.slots.setRelease(slot, value)

  /** The key of a slot is there again; a scan may have passed it when it was gone. */
  def relink(slot: Int): Unit = if (isIndexed) arrays.index.relink(cellAt(slot))

  private def cellAt(slot: Int): Cell = arrays.slots.getPlain(slot).asInstanceOf[Cell]

  /**
   * Adds a key that `indexOf` did not find. Writer only.
   *
   * @param start its time, as [[TimedValue]] has it, where records expire
   * @param stamp of what has settled of it
   */
  def insert(
      rawHash: Int,
      value: AnyRef,
      start: Long = TimedValue.Untimed,
      stamp: Int = Stamp.AsCold
  ): Unit = {
    if (used + 1 > arrays.limit) rebuild(wantedCapacity)
    val a = arrays
    val hash = a.hashOf(rawHash, value)
    val capacity = a.capacity
    val first = a.firstIndex(hash)
    var i = first
    while (isTaken(a.hashes.getPlain(i))) {
      i += 1
      if (i == capacity) i = 0
    }
    if (a.hashes.getPlain(i) == Empty) used += 1
    live += 1
    a.setStamp(i, stamp)
    if (isIndexed) {
      val cell = new Cell(value)
      a.slots.setRelease(i, cell)
      a.index.add(cell)
    } else {
      a.slots.setRelease(i, value)
      if (isTimed) a.starts(i) = hint(start)
    }
    a.hashes.setRelease(i, hash)
    if (isWatched(first, i)) defend(i)
  }

  /**
   * Whether there may be something wrong around a slot that was filled just now: always where that lies far from where the
   * probe began (or before that, at the end of the arrays), and once in 64 times wherever it lies, because slots side
   * by side can be filled without one long probe. Nobody can tell when. No branch but the caller's.
   */
  private def isWatched(first: Int, slot: Int): Boolean = {
    dice = dice * 1664525 + 1013904223 // after Knuth; the upper bits are the good ones
    (((slot - first) >>> 6) | ((dice >>> 26) - 1 >>> 31)) != 0
  }

  /** Keys that were chosen to collide are placed anew, where nobody can have chosen. No slot's index is valid after it. */
  private def defend(slot: Int): Unit = {
    val a = arrays
    if (!a.isKeyed && a.isCrowded(slot)) {
      arrays = a.keyed
      used = live
    }
  }

  /** The newest record of a slot's key has this time, see [[insert]]. Writer only. */
  def setStart(slot: Int, start: Long): Unit = if (isTimed) arrays.starts(slot) = hint(start)

  /** Whose the settled record of a slot is. Writer only. */
  def stampAt(slot: Int): Int = arrays.stampAt(slot)

  /** What settled in a slot has this stamp. Writer only. */
  def setStamp(slot: Int, stamp: Int): Unit = arrays.setStamp(slot, stamp)

  /**
   * Frees a slot whose key no reader can reach any more. Writer only; no other slot's index is valid
   * after it, because a bucket that is nearly empty is rebuilt smaller.
   */
  def free(slot: Int): Unit = {
    val a = arrays
    if (isIndexed) a.index.remove(cellAt(slot))
    empty(a, slot)
    trim()
  }

  /** Gives back room that was not needed. Writer only; no slot's index is valid after it. */
  def trim(): Unit = if (isSparse(arrays, live)) rebuild(fitting(live))

  /** Leaves a marker where a probe may have to go on, and none where it would end at the next slot anyway. */
  private def empty(a: SlotArrays, slot: Int): Unit = {
    a.hashes.setRelease(slot, Deleted)
    a.slots.setRelease(slot, null)
    if (isTimed) a.starts(slot) = SlotArrays.NoStart
    live -= 1
    if (a.hashes.getPlain(if (slot + 1 == a.capacity) 0 else slot + 1) == Empty) {
      var i = slot
      while (a.hashes.getPlain(i) == Deleted) {
        a.hashes.setRelease(i, Empty)
        used -= 1
        i = if (i == 0) a.capacity - 1 else i - 1
      }
    }
  }

  /** The arrays as they are now; a scan of them sees every key that has been there from now on. */
  def capture(): SlotArrays = arrays

  def capacity: Int = arrays.capacity

  /** Whether every key that exists is here. Writer only; readers look at the arrays that they captured. */
  def isWhole: Boolean = arrays.isWhole

  /** What the slots lead to takes so many bytes of heap more. Writer only. */
  def charge(bytes: Long): Unit = records += bytes

  /** Heap of all that it holds, an estimate. */
  def heap: Long = {
    val a = arrays
    records + a.capacity * a.slotSize + BucketSize +
      (if (isIndexed) a.index.heap(live.toLong) else 0L)
  }

  private def anIndex(): FamilyIndex = if (isIndexed) newIndex() else null

  /** A removal of this version, counted from the table's base, left no trace. Writer only. */
  def staysWholeUntil(version: Int): Unit = wholeUntil = Math.max(wholeUntil, version)

  /** Whether all that is missing here is missing in the cold part of a floor, too. Writer only. */
  def canEvict(floor: Int): Boolean = wholeUntil <= floor

  /** How it was after it was last evicted. Writer only. */
  def lastEviction: Eviction = eviction

  /**
   * Lets go of the records that the cold part has, and is not whole any more, see [[BucketEviction]]. Only where
   * [[canEvict]] says so. O(keys). Writer only.
   *
   * @param floor  version of the cold part, counted from the table's base
   * @param number how many evictions of the family came before, so that it is known which are long ago
   */
  def evict(floor: Int, number: Long): Unit = {
    val left = BucketEviction.of(arrays, floor, isTimed, anIndex())
    live = left.keys
    used = left.keys
    records -= left.freed
    arrays = defended(left.arrays)
    eviction = new Eviction(number, floor, heap)
  }

  /**
   * Frees slots whose record has expired, see [[BucketSweep]]. Writer only; no slot's index is valid after it.
   *
   * @param from  the first slot that is looked at
   * @param times of the oldest version that can be read
   * @param floor version of the cold part, counted from the table's base
   * @param found looks at so many slots as it has room for
   * @return the slot to go on with, -1 at the end
   */
  def sweep(from: Int, times: TimeBuckets, floor: Int, found: BucketSweep): Int = {
    val a = arrays
    if (!a.isWhole || a.starts == null || from >= a.capacity) -1
    else {
      val until = found.look(a, from, times, floor)
      records -= found.freed
      var n = 0
      while (n < found.count) {
        empty(a, found.slot(n))
        n += 1
      }
      if (until < a.capacity) until
      else {
        trim()
        -1
      }
    }
  }

  /**
   * Gives all that it holds to another bucket, and is of no use any more. Readers go on with what they have. Writer only.
   *
   * @param target this has all of its keys, and accounts for none of their records
   */
  def moveTo(target: Bucket): Unit = target.take(arrays, used, live, records)

  private def take(whole: SlotArrays, inUse: Int, there: Int, bytes: Long): Unit = {
    used = inUse
    live = there
    records += bytes
    arrays = whole
  }

  /** Keys that are here, and those whose removal is. Writer only. */
  def size: Int = live

  /** What to rebuild into when no slot is left: more where they hold keys, else without the markers. */
  private def wantedCapacity: Int = {
    val old = arrays
    val wanted = live + 1
    if (wanted * 2L < old.limit && old.capacity > SparseCapacity) fitting(wanted)
    else if (wanted * 4L < old.limit * 3L) old.capacity
    else if (old.capacity < SmallCapacity) Math.max(FirstCapacity, old.capacity * 2)
    else Math.addExact(old.capacity, old.capacity >> 1)
  }

  private def rebuild(capacity: Int): Unit = {
    val old = arrays
    val fresh = new SlotArrays(capacity, old.isWhole, isTimed, old.index, old.isKeyed)
    fresh.placeAll(old)
    used = live
    arrays = if (capacity < old.capacity) defended(fresh) else fresh
  }

  /** Keys that were apart may be side by side in arrays that are smaller. */
  private def defended(fresh: SlotArrays): SlotArrays =
    if (!fresh.isKeyed && fresh.isCrowded) fresh.keyed else fresh
}

private[table] object Bucket {

  /**
   * @param number of the family's evictions, 0 for none
   * @param floor  that it was for
   * @param heap   what was left
   */
  final class Eviction(val number: Long, val floor: Int, val heap: Long)

  private val NoEviction = new Eviction(0L, Int.MinValue, 0L)

  // On a 64-bit JVM with compressed pointers.
  private final val BucketSize = 120L

  private final val SmallCapacity = 1024
  private final val SparseCapacity = 64 // a bucket of this size is not worth a rebuild

  /**
   * Whether so few keys are left of what a bucket once held that it should give its memory back. It was
   * three eighths full at least when it got its size, so a removal pays for ten slots of a rebuild at most.
   */
  private def isSparse(arrays: SlotArrays, live: Int): Boolean =
    live * 4L < arrays.limit && arrays.capacity > SparseCapacity
}
