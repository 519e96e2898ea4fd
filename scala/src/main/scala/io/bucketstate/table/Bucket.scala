package io.bucketstate.table

import java.util.concurrent.atomic.{AtomicIntegerArray, AtomicReferenceArray}

/**
 * One bucket: an open-addressing hash table (linear probing) from keys to the newest thing known of
 * them, which is a settled record (`Array[Byte]`) or an [[Entry]] with its chain of older ones.
 *
 * Threads: one writer, any number of readers, no locks. A reader sees, for every key, the state
 * before or after a concurrent write, whole: slots are published with release and read with acquire
 * semantics, and a slot is filled before its hash is set and emptied after its hash is cleared. A
 * freed slot keeps a marker, so that no key ever moves while readers probe; markers go when the bucket
 * is rebuilt into new arrays, and readers of the old arrays go on with those.
 *
 * In a family that is scanned a slot holds a [[Cell]], which is in the family's index, too; the bucket
 * keeps the two together.
 *
 * The hashes lie beside the slots, so probing touches a record only when 32 bits of hash agree, and a
 * rebuild touches no record at all. Only one bucket is ever rebuilt at a time: that is how growth
 * costs no pause.
 *
 * @param index of the family, null if it has none
 */
private[table] final class Bucket(index: FamilyIndex) {
  import Bucket._

  @volatile private[this] var arrays: SlotArrays = EmptyArrays
  private[this] var used = 0 // slots that are not empty, markers included
  private[this] var live = 0 // slots that hold something

  /** What the key in `key` leads to, or null. Any thread. */
  def head(key: RecordBuffer): AnyRef = {
    val a = arrays
    val hash = normal(key.hash)
    val capacity = a.capacity
    var i = a.firstIndex(hash)
    while (true) {
      val h = a.hashes.getAcquire(i)
      if (h == hash) {
        val slot = content(a.slots.getAcquire(i))
        if (slot != null && key.sameKey(Slots.recordOf(slot))) return slot
      } else if (h == Empty) {
        return null
      }
      i += 1
      if (i == capacity) i = 0
    }
    null
  }

  /** Index of the key's slot, or -1. Writer only; valid until the next insert. */
  def indexOf(key: RecordBuffer): Int = {
    val a = arrays
    val hash = normal(key.hash)
    val capacity = a.capacity
    var i = a.firstIndex(hash)
    while (true) {
      val h = a.hashes.getPlain(i)
      if (h == hash) {
        if (key.sameKey(Slots.recordOf(content(a.slots.getPlain(i))))) return i
      } else if (h == Empty) {
        return -1
      }
      i += 1
      if (i == capacity) i = 0
    }
    -1
  }

  /** Index of the slot in whose chain `entry` is, or -1. Writer only. */
  def indexOf(entry: Entry): Int = {
    val a = arrays
    val hash = normal(entry.hash)
    val capacity = a.capacity
    var i = a.firstIndex(hash)
    while (true) {
      val h = a.hashes.getPlain(i)
      if (h == hash) {
        if (chainHolds(content(a.slots.getPlain(i)), entry)) return i
      } else if (h == Empty) {
        return -1
      }
      i += 1
      if (i == capacity) i = 0
    }
    -1
  }

  /** Brings the place of a hash into the processor's cache; what it returns means nothing. Writer only. */
  def touch(rawHash: Int): Int = {
    val a = arrays
    val i = a.firstIndex(normal(rawHash))
    val hash = a.hashes.getPlain(i)
    if (a.slots.getPlain(i) == null) hash else hash + 1
  }

  /** What the slot leads to. Writer only. */
  def at(slot: Int): AnyRef = content(arrays.slots.getPlain(slot))

  /** Puts something newer (or equivalent) into the slot of the same key. Writer only. */
  def replace(slot: Int, value: AnyRef): Unit =
    if (index == null) arrays.slots.setRelease(slot, value) else cellAt(slot).content = value

  /** The key of a slot is there again; a scan may have passed it when it was gone. */
  def relink(slot: Int): Unit = if (index != null) index.relink(cellAt(slot))

  /** What a slot leads to, null if it is empty: where there is an index, slots hold cells. */
  def content(slot: AnyRef): AnyRef =
    if (index == null || slot == null) slot else slot.asInstanceOf[Cell].content

  private def cellAt(slot: Int): Cell = arrays.slots.getPlain(slot).asInstanceOf[Cell]

  /** Adds a key that `indexOf` did not find. Writer only. */
  def insert(rawHash: Int, value: AnyRef): Unit = {
    if (used + 1 > arrays.limit) rebuild(wantedCapacity)
    val hash = normal(rawHash)
    val a = arrays
    val capacity = a.capacity
    var i = a.firstIndex(hash)
    while (isTaken(a.hashes.getPlain(i))) {
      i += 1
      if (i == capacity) i = 0
    }
    if (a.hashes.getPlain(i) == Empty) used += 1
    live += 1
    if (index == null) a.slots.setRelease(i, value)
    else {
      val cell = new Cell(value)
      a.slots.setRelease(i, cell)
      index.add(cell)
    }
    a.hashes.setRelease(i, hash)
  }

  /**
   * Frees a slot whose key no reader can reach any more. Writer only; no other slot's index is valid
   * after it, because a bucket that is nearly empty is rebuilt smaller.
   */
  def free(slot: Int): Unit = {
    val a = arrays
    if (index != null) index.remove(cellAt(slot))
    a.hashes.setRelease(slot, Deleted)
    a.slots.setRelease(slot, null)
    live -= 1
    if (isSparse(a, live)) rebuild(fitting(live))
  }

  /** The arrays as they are now; a scan of them sees every key that has been there from now on. */
  def capture(): SlotArrays = arrays

  def capacity: Int = arrays.capacity

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
    val fresh = new SlotArrays(capacity)
    var from = 0
    while (from < old.capacity) {
      val hash = old.hashes.getPlain(from)
      if (isTaken(hash)) {
        var to = fresh.firstIndex(hash)
        while (fresh.hashes.getPlain(to) != Empty) {
          to += 1
          if (to == capacity) to = 0
        }
        fresh.hashes.setPlain(to, hash)
        fresh.slots.setPlain(to, old.slots.getPlain(from))
      }
      from += 1
    }
    used = live
    arrays = fresh
  }
}

private[table] object Bucket {
  private final val Empty = 0
  private final val Deleted = 1
  private final val FirstCapacity = 8
  private final val SmallCapacity = 1024
  private final val SparseCapacity = 64 // a bucket of this size is not worth a rebuild

  /** The two reserved values are moved out of the way. */
  private def normal(hash: Int): Int = if (isTaken(hash)) hash else hash | 2

  private def isTaken(hash: Int): Boolean = hash != Empty && hash != Deleted

  /**
   * Whether so few keys are left of what a bucket once held that it should give its memory back. It was
   * three eighths full at least when it got its size, so a removal pays for ten slots of a rebuild at most.
   */
  private def isSparse(arrays: SlotArrays, live: Int): Boolean =
    live * 4L < arrays.limit && arrays.capacity > SparseCapacity

  /** Half full of so many keys. */
  private def fitting(live: Int): Int = Math.max(FirstCapacity, (live * 5L / 2).toInt)

  /** Capacity 1 and never filled: a lookup in it finds an empty slot, an insert rebuilds first. */
  private val EmptyArrays = new SlotArrays(1)

  private def chainHolds(slot: AnyRef, entry: Entry): Boolean = {
    var current = slot
    if (current eq entry) return true // without a look at what the slot holds
    while (current.isInstanceOf[Entry]) {
      if (current eq entry) return true
      current = current.asInstanceOf[Entry].older
    }
    false
  }

  /** Hashes and slots of one size. It is its own array of hashes: a probe waits for one object less. */
  final class SlotArrays(val capacity: Int) extends AtomicIntegerArray(capacity) {
    def hashes: AtomicIntegerArray = this

    val slots: AtomicReferenceArray[AnyRef] = new AtomicReferenceArray[AnyRef](capacity)

    /** Slots that may be in use: at most 4 in 5, so a probe always ends. */
    val limit: Int = if (capacity == 1) 0 else (capacity * 4L / 5).toInt

    /** Multiply-shift instead of modulo: any capacity will do, so growth can be by half. */
    def firstIndex(hash: Int): Int = (((hash & 0xffffffffL) * capacity) >>> 32).toInt
  }
}
