package io.bucketstate.table.bucket

import io.bucketstate.record.{KeyedHash, RecordBuffer, TimedValue}
import io.bucketstate.table.entry.{Entry, Slots, Stamp}
import io.bucketstate.table.index.{Cell, FamilyIndex, PublishedInts, PublishedRefs}

/**
 * Hashes and slots of one size, see [[Bucket]]. It is its own array of hashes: a probe waits for one object less.
 *
 * @param isWhole whether every key that exists is here; if not, the cold part has to be asked for those that are
 *                not. A key that is here is known at every version that can be read.
 * @param isTimed whether records expire
 * @param index   leads to the same keys; null where nothing is scanned by a part of its keys
 * @param isKeyed whether keys are placed by [[KeyedHash]], because they were chosen to collide by the other
 */
private[table] final class SlotArrays(
    size: Int,
    val isWhole: Boolean,
    isTimed: Boolean = false,
    val index: FamilyIndex = null,
    val isKeyed: Boolean = false
) extends PublishedInts(size) {
  import SlotArrays._

  def hashes: PublishedInts = this

  def capacity: Int = length

  val slots: PublishedRefs[AnyRef] = new PublishedRefs[AnyRef](capacity)

  /**
   * No earlier than the times of the newest records in slots, as unsigned numbers, or 0 where that is not known: so
   * that whoever looks for what has expired need not wait for records; of free slots as if they never expired. Null where
   * records do not expire. The writer's.
   */
  val starts: Array[Int] = if (isTimed) Array.fill(capacity)(NoStart) else null

  /** The stamps of what has settled in slots, see [[Stamp]]: null as long as the cold part has it all. The writer's. */
  private[this] var stamps: Array[Int] = _

  /** Whose settled record this is, which may lie below entries. The writer's. */
  def stampAt(slot: Int): Int = if (stamps == null) Stamp.AsCold else stamps(slot)

  def setStamp(slot: Int, stamp: Int): Unit =
    if (stamps != null) stamps(slot) = stamp
    else if (stamp != Stamp.AsCold) {
      stamps = new Array[Int](capacity)
      stamps(slot) = stamp
    }

  /** Heap of a slot, without what it leads to. */
  def slotSize: Long =
    SlotSize + (if (starts == null) 0 else Integer.BYTES) + (if (stamps == null) 0
                                                             else Integer.BYTES)

  /** What a slot leads to, null if it is empty: where there is an index, slots hold cells. */
  def content(slot: AnyRef): AnyRef =
    if (index == null || slot == null) slot else slot.asInstanceOf[Cell].content

  /** Slots that may be in use: at most 4 in 5, so a probe always ends. */
  val limit: Int = if (capacity == 1) 0 else (capacity * 4L / 5).toInt

  /** Multiply-shift instead of modulo: any capacity will do, so growth can be by half. */
  def firstIndex(hash: Int): Int = (((hash & 0xffffffffL) * capacity) >>> 32).toInt

  /** What places a key here. */
  private def hashOf(key: RecordBuffer): Int = normal(if (isKeyed) key.keyedHash else key.hash)

  /**
   * What places a key that is in something that a slot can lead to.
   *
   * @param hash as a [[RecordBuffer]] has it
   */
  def hashOf(hash: Int, held: AnyRef): Int =
    normal(if (isKeyed) KeyedHash.ofRecord(Slots.recordOf(held)) else hash)

  /** What the key in `key` leads to, or null. Any thread. */
  def head(key: RecordBuffer): AnyRef = {
    val hash = hashOf(key)
    val most = capacity // read once: the fences would have it read again
    var i = firstIndex(hash)
    while (true) {
      val h = hashes.getAcquire(i)
      if (h == hash) {
        val slot = content(slots.getAcquire(i))
        if (slot != null && key.sameKey(Slots.recordOf(slot))) return slot
      } else if (h == Empty) {
        return null
      }
      i += 1
      if (i == most) i = 0
    }
    null
  }

  /** The slot of a key, or -1. The writer's. */
  def indexOf(key: RecordBuffer): Int = {
    val hash = hashOf(key)
    val most = capacity // read once: the fences would have it read again
    var i = firstIndex(hash)
    while (true) {
      val h = hashes.getPlain(i)
      if (h == hash) {
        if (key.sameKey(Slots.recordOf(content(slots.getPlain(i))))) return i
      } else if (h == Empty) {
        return -1
      }
      i += 1
      if (i == most) i = 0
    }
    -1
  }

  /** The slot in whose chain `entry` is, or -1. The writer's. */
  def indexOf(entry: Entry): Int = {
    val hash = hashOf(entry.hash, entry)
    val most = capacity // read once: the fences would have it read again
    var i = firstIndex(hash)
    while (true) {
      val h = hashes.getPlain(i)
      if (h == hash) {
        if (chainHolds(content(slots.getPlain(i)), entry)) return i
      } else if (h == Empty) {
        return -1
      }
      i += 1
      if (i == most) i = 0
    }
    -1
  }

  /** Brings the place of an entry into the processor's cache; what it returns means nothing. The writer's. */
  def touch(entry: Entry): Int = {
    val i = firstIndex(hashOf(entry.hash, entry))
    val hash = hashes.getPlain(i)
    if (slots.getPlain(i) == null) hash else hash + 1
  }

  /**
   * Whether probes that come by a taken slot are longer than chance would have them: they go over many records of one hash,
   * or many slots that are not empty. The writer's.
   */
  def isCrowded(slot: Int): Boolean = {
    val hash = hashes.getPlain(slot)
    var same = 0
    var run = 0
    var i = slot
    while (run < LongRun && hashes.getPlain(i) != Empty) {
      if (hashes.getPlain(i) == hash) same += 1
      run += 1
      i = if (i == 0) capacity - 1 else i - 1
    }
    i = if (slot + 1 == capacity) 0 else slot + 1
    while (run < LongRun && hashes.getPlain(i) != Empty) {
      if (hashes.getPlain(i) == hash) same += 1
      run += 1
      i = if (i + 1 == capacity) 0 else i + 1
    }
    run == LongRun || same >= ManyAlike
  }

  /** Whether any probe may be as long as that. The writer's. */
  def isCrowded: Boolean = {
    var run = 0
    var i = 0
    while (i < capacity && run < LongRun) {
      run = if (hashes.getPlain(i) == Empty) 0 else run + 1
      i += 1
    }
    run == LongRun
  }

  /** A copy with every key placed by [[KeyedHash]], while nobody else sees it. */
  def keyed: SlotArrays = {
    val fresh = new SlotArrays(capacity, isWhole, isTimed, index, isKeyed = true)
    fresh.placeAll(this)
    fresh
  }

  /** @param start see [[starts]] */
  private def place(hash: Int, slot: AnyRef, start: Int, stamp: Int): Unit = {
    var to = firstIndex(hash)
    while (hashes.getPlain(to) != Empty) {
      to += 1
      if (to == capacity) to = 0
    }
    hashes.setPlain(to, hash)
    slots.setPlain(to, slot)
    if (isTimed) starts(to) = start
    setStamp(to, stamp)
  }

  /** Puts in what is in a slot of other arrays, while nobody else sees these. */
  def placeFrom(others: SlotArrays, from: Int): Unit = place(
    hashIn(others, from),
    others.slots.getPlain(from),
    if (others.starts == null) 0 else others.starts(from),
    others.stampAt(from)
  )

  /** What places here what is in a slot of other arrays: its record is looked at only where that changes. */
  private def hashIn(others: SlotArrays, from: Int): Int = {
    val hash = others.hashes.getPlain(from)
    if (isKeyed == others.isKeyed) hash
    else hashOf(hash, others.content(others.slots.getPlain(from)))
  }

  /** Puts in what other arrays hold, while nobody else sees these. */
  def placeAll(others: SlotArrays): Unit = {
    var from = 0
    while (from < others.capacity) {
      if (isTaken(others.hashes.getPlain(from))) placeFrom(others, from)
      from += 1
    }
  }

  /** Puts in what a slot of other arrays leads to, with a cell of its own: the others' index goes on with theirs. */
  def placeAnew(others: SlotArrays, from: Int): Unit =
    if (index == null) placeFrom(others, from)
    else {
      val cell = new Cell(others.content(others.slots.getPlain(from)))
      place(hashIn(others, from), cell, 0, others.stampAt(from))
      index.add(cell)
    }
}

private[table] object SlotArrays {
  final val Empty = 0
  final val Deleted = 1
  final val FirstCapacity = 8

  /** Slots in a row that are not empty: at four fifths full chance makes so many once in 10^20 slots. */
  final val LongRun = 2048

  /** Keys of one hash; two are rare already. */
  final val ManyAlike = 32

  // A hash and a reference, on a 64-bit JVM with compressed pointers.
  private final val SlotSize = 8L

  /** Later than every time. */
  final val NoStart = -1

  /** The two reserved values are moved out of the way. */
  def normal(hash: Int): Int = if (isTaken(hash)) hash else hash | 2

  def isTaken(hash: Int): Boolean = hash != Empty && hash != Deleted

  /** A time as [[SlotArrays.starts]] has it. */
  def hint(start: Long): Int = if (start == TimedValue.Untimed) 0 else start.toInt

  /** For so many keys, half full of them. */
  def fitting(keys: Int): Int = Math.max(FirstCapacity, (keys * 5L / 2).toInt)

  /** For about so many keys, two thirds full of them: as full as those are on average that grew. */
  def holding(keys: Int): Int = Math.max(FirstCapacity, (keys * 3L / 2).toInt)

  /** Capacity 1 and never filled: a lookup in it finds an empty slot, an insert rebuilds first. */
  def empty(isWhole: Boolean, index: FamilyIndex): SlotArrays =
    if (index != null) new SlotArrays(1, isWhole, index = index)
    else if (isWhole) EmptyWhole
    else EmptyCold

  private val EmptyWhole = new SlotArrays(1, isWhole = true)
  private val EmptyCold = new SlotArrays(1, isWhole = false)

  private def chainHolds(slot: AnyRef, entry: Entry): Boolean = {
    var current = slot
    if (current eq entry) return true // without a look at what the slot holds
    while (current.isInstanceOf[Entry]) {
      if (current eq entry) return true
      current = current.asInstanceOf[Entry].older
    }
    false
  }
}
