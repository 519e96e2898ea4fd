package io.bucketstate.table

/**
 * Hashes and slots of one size, see [[Bucket]]. It is its own array of hashes: a probe waits for one object less.
 *
 * @param isWhole whether every key that exists is here; if not, the cold part has to be asked for those that are
 *                not. A key that is here is known at every version that can be read.
 * @param isTimed whether records expire
 * @param index   leads to the same keys; null where nothing is scanned by a part of its keys
 */
private[table] final class SlotArrays(
    size: Int,
    val isWhole: Boolean,
    isTimed: Boolean = false,
    val index: FamilyIndex = null
) extends PublishedInts(size) {
  import SlotArrays._

  def hashes: PublishedInts = this

  def capacity: Int = length

  val slots: PublishedRefs[AnyRef] = new PublishedRefs[AnyRef](capacity)

  /**
   * No earlier than the times of the newest records in slots, as unsigned numbers, or 0 where that is not known: so
   * that who looks for what has expired need not wait for records; of free slots as if they never expired. Null where
   * records do not expire. The writer's.
   */
  val starts: Array[Int] = if (isTimed) Array.fill(capacity)(NoStart) else null

  /** Of what has settled in slots, see [[Stamp]]: null as long as the cold part has it all. The writer's. */
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
    others.hashes.getPlain(from),
    others.slots.getPlain(from),
    if (others.starts == null) 0 else others.starts(from),
    others.stampAt(from)
  )

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
      place(others.hashes.getPlain(from), cell, 0, others.stampAt(from))
      index.add(cell)
    }
}

private[table] object SlotArrays {
  final val Empty = 0
  final val Deleted = 1
  final val FirstCapacity = 8

  // A hash and a reference, on a 64-bit JVM with compressed pointers.
  private final val SlotSize = 8L

  /** Later than every time. */
  final val NoStart = -1

  /** The two reserved values are moved out of the way. */
  def normal(hash: Int): Int = if (isTaken(hash)) hash else hash | 2

  def isTaken(hash: Int): Boolean = hash != Empty && hash != Deleted

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
}
