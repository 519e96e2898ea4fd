package io.bucketstate.rocksdb

import java.nio.{ByteBuffer, ByteOrder}
import java.util.concurrent.locks.StampedLock

import org.apache.spark.unsafe.Platform

import io.bucketstate.record.{Record, RecordBuffer}

/**
 * A part of a [[RecordCache]]: a ring of chunks outside the heap that records are appended to, the oldest chunk being
 * overwritten, and an index of sets of slots, each a position in the ring with some bits of the hash. A slot whose
 * position was overwritten is free: so nothing ever has to be removed. What is written again stays in its place unless
 * that is in the oldest eighth of the ring.
 *
 * Invariant: what was written since the ring's head was at some place is found by its key as long as the head is less
 * than an eighth of the ring behind that place, unless its epoch is at most `untraced`. So who has read a record at the
 * epoch of that place adds it only while this holds and there is nothing newer of its key, and can hide nothing newer. Keys
 * of which it is only known that they were written have entries, too.
 *
 * Readers take no lock unless somebody writes at the same time: what they read of torn entries is thrown away. An entry is
 *
 * {{{ length i32, < 0 if the value is not known | part i32 | epoch i64 | record, or only its key | up to 15 bytes }}}
 *
 * @param chunks     in the ring
 * @param chunkBytes a power of 2
 * @param taken      told of memory that is taken, in bytes
 */
private[rocksdb] final class RecordShard(chunks: Int, chunkBytes: Int, taken: Long => Unit) {
  import RecordShard._

  private[this] val lock = new StampedLock
  private[this] val ring = new Array[ByteBuffer](chunks)
  private[this] val chunkUnits = chunkBytes / Grain
  private[this] val chunkShift = Integer.numberOfTrailingZeros(chunkUnits)
  private[this] val span = (chunks - 1).toLong * chunkUnits // behind the head, is not overwritten
  private[this] val mostLength = chunkBytes / 4 - HeaderBytes
  private[this] val mostSets = Integer.highestOneBit(chunks * (chunkBytes / LeastPerSlot) / Ways)
  private[this] var index: ByteBuffer = _
  private[this] var sets = 0 // a power of 2
  private[this] var sinceCount = 0 // entries that were added since the live ones were counted
  private[this] var next = 0L // where to append, in units since the beginning
  private[this] var untraced = -1L // the highest epoch of a write that has no entry
  private[this] var isOff = false // there is no memory to be had

  /** Where the ring is written to. */
  def head: Long = {
    val stamp = lock.readLock()
    try next
    finally lock.unlockRead(stamp)
  }

  def find(hash: Long, part: Int, key: RecordBuffer, epoch: Long): Array[Byte] = {
    val hopeful = lock.tryOptimisticRead()
    val found = if (hopeful == 0L) null else look(hash, part, key, epoch)
    if (hopeful != 0L && lock.validate(hopeful)) found
    else {
      val stamp = lock.readLock()
      try look(hash, part, key, epoch)
      finally lock.unlockRead(stamp)
    }
  }

  /** @param since where the head was at that epoch */
  def found(hash: Long, part: Int, record: Array[Byte], epoch: Long, since: Long): Unit =
    if (record.length <= mostLength) {
      val stamp = lock.writeLock()
      try
        if (!isOff && next - since < span / OldShare && untraced <= epoch) {
          val end = Record.keyEnd(record)
          val slot = slotOf(hash, part, record, end)
          if (slot < 0) addAt(freeSlot(hash), hash, part, record, record.length, true, epoch)
          else if (epochAt(slot) <= epoch)
            addAt(slot, hash, part, record, record.length, true, epoch)
        }
      finally lock.unlockWrite(stamp)
    }

  /** @param keyEnd of the record, of which no more need be there unless it is known */
  def written(
      hash: Long,
      part: Int,
      record: Array[Byte],
      keyEnd: Int,
      isKnown: Boolean,
      epoch: Long
  ): Unit = {
    val stamp = lock.writeLock()
    try
      if (!isOff) {
        val keeps = isKnown && record.length <= mostLength
        val length = if (keeps) record.length else keyEnd
        val there = slotOf(hash, part, record, keyEnd)
        val isReplaced = there >= 0 && replace(there, record, length, keeps, epoch)
        // No record of a longer key is ever added.
        if (!isReplaced && length <= mostLength) {
          val slot = if (there >= 0) there else freeSlot(hash)
          addAt(slot, hash, part, record, length, keeps, epoch)
        }
      }
    finally lock.unlockWrite(stamp)
  }

  /** Gives its memory back; nothing is kept from now on. Nobody else is here, and nobody comes but to find nothing. */
  def close(): Unit = {
    val stamp = lock.writeLock()
    try {
      isOff = true
      val all = Option(index) ++ ring.iterator.filter(_ != null)
      index = null
      ring.indices.foreach(ring(_) = null)
      all.foreach { memory =>
        taken(-memory.capacity.toLong)
        DirectMemory.free(memory)
      }
    } finally lock.unlockWrite(stamp)
  }

  private def look(hash: Long, part: Int, key: RecordBuffer, epoch: Long): Array[Byte] = {
    val slots = index
    val mask = sets - 1
    if (slots == null) return null
    val from = (tagOf(hash) & mask) * Ways * 8
    if (from < 0 || from + Ways * 8 > slots.capacity) return null // the index is being replaced
    var at = from
    while (at < from + Ways * 8) {
      val slot = slots.getLong(at)
      if (slot != 0L && (slot & TagMask) == tagOf(hash) && isThere(positionOf(slot))) {
        val found = recordAt(positionOf(slot), part, epoch)
        if (found != null && key.sameKey(found)) return found
      }
      at += 8
    }
    null
  }

  /** Null if that is another part's, or not known at this epoch. */
  private def recordAt(position: Long, part: Int, epoch: Long): Array[Byte] = {
    val chunk = chunkOf(position)
    val at = offsetOf(position)
    if (chunk == null || chunk.getInt(at + 4) != part || chunk.getLong(at + 8) > epoch) null
    else {
      val length = chunk.getInt(at)
      if (length <= 0 || length > chunkBytes - HeaderBytes - at) null
      else {
        val record = new Array[Byte](length)
        chunk.get(at + HeaderBytes, record)
        record
      }
    }
  }

  /** Where the index has an entry of a key, or -1. */
  private def slotOf(hash: Long, part: Int, record: Array[Byte], keyEnd: Int): Int =
    if (index == null) -1
    else {
      val from = setOf(hash)
      var at = from
      while (at < from + Ways * 8) {
        val slot = index.getLong(at)
        if (
          slot != 0L && (slot & TagMask) == tagOf(hash) && isThere(positionOf(slot)) &&
          isOf(positionOf(slot), part, record, keyEnd)
        ) return at
        at += 8
      }
      -1
    }

  private def isOf(position: Long, part: Int, record: Array[Byte], keyEnd: Int): Boolean = {
    val chunk = chunkOf(position)
    val at = offsetOf(position)
    chunk.getInt(at + 4) == part && Math.abs(chunk.getInt(at)) >= keyEnd && {
      var i = 0
      while (i < keyEnd && chunk.get(at + HeaderBytes + i) == record(i)) i += 1
      i == keyEnd
    }
  }

  private def epochAt(slot: Int): Long = {
    val position = positionOf(index.getLong(slot))
    chunkOf(position).getLong(offsetOf(position) + 8)
  }

  /** False if the entry is too old to be where it is, or of another size. */
  private def replace(
      slot: Int,
      record: Array[Byte],
      length: Int,
      isKnown: Boolean,
      epoch: Long
  ): Boolean = {
    val position = positionOf(index.getLong(slot))
    val chunk = chunkOf(position)
    val at = offsetOf(position)
    val room = Math.abs(chunk.getInt(at))
    val isRight = !isOld(position) && (!isKnown || unitsOf(room) == unitsOf(length))
    if (isRight) {
      // What is not known has its key, whatever its old value is behind it.
      chunk.putInt(at, if (isKnown) length else -room)
      chunk.putLong(at + 8, epoch)
      if (isKnown) chunk.put(at + HeaderBytes, record, 0, length)
    }
    isRight
  }

  /** Does nothing if there is no memory. */
  private def addAt(
      slot: Int,
      hash: Long,
      part: Int,
      record: Array[Byte],
      length: Int,
      isKnown: Boolean,
      epoch: Long
  ): Unit = if (slot >= 0) {
    val units = unitsOf(length)
    val left = chunkUnits - (next & (chunkUnits - 1))
    val position = if (units <= left) next else next + left
    val chunk = readyChunk(position)
    if (chunk != null) {
      val at = offsetOf(position)
      chunk.putInt(at, if (isKnown) length else -length)
      chunk.putInt(at + 4, part)
      chunk.putLong(at + 8, epoch)
      chunk.put(at + HeaderBytes, record, 0, length)
      next = position + units
      index.putLong(slot, ((position + 1) << TagBits) | tagOf(hash))
      sinceCount += 1
    }
  }

  /** A slot of a key's set, -1 if there is no memory: a free one, or that of the oldest write, which leaves no trace. */
  private def freeSlot(hash: Long): Int = {
    if (index == null) resize(Math.min(FirstSets, mostSets))
    var slot = if (isOff) -1 else freeIn(setOf(hash))
    while (slot < 0 && !isOff && isToGrow) {
      resize(sets * 2)
      if (!isOff) slot = freeIn(setOf(hash))
    }
    if (slot < 0 && !isOff) oldestIn(setOf(hash)) else slot
  }

  private def freeIn(from: Int): Int = {
    var at = from
    while (at < from + Ways * 8) {
      val slot = index.getLong(at)
      if (slot == 0L || !isThere(positionOf(slot))) return at
      at += 8
    }
    -1
  }

  private def oldestIn(from: Int): Int = {
    var best = from
    var oldest = epochAt(from)
    var at = from + 8
    while (at < from + Ways * 8) {
      val epoch = epochAt(at)
      if (epoch < oldest) {
        oldest = epoch
        best = at
      }
      at += 8
    }
    untraced = Math.max(untraced, oldest)
    best
  }

  /** A set may be full of its keys while others have room: then more sets would be of little use. */
  private def isToGrow: Boolean = sets < mostSets && sinceCount > sets && {
    sinceCount = 0
    var live = 0
    var at = 0
    while (at < sets * Ways * 8) {
      val slot = index.getLong(at)
      if (slot != 0L && isThere(positionOf(slot))) live += 1
      at += 8
    }
    live * 2L > sets * Ways
  }

  /** Each set's keys are in it or in the one that is added for it. */
  private def resize(to: Int): Unit = {
    val (before, old) = (sets, index)
    val larger = allocated(to * Ways * 8)
    if (larger != null) {
      index = larger
      sets = to
      var at = 0
      while (at < before * Ways * 8) {
        val slot = old.getLong(at)
        val set = (slot & TagMask & (to - 1)).toInt
        if (slot != 0L) index.putLong(set * Ways * 8 + at % (Ways * 8), slot)
        at += 8
      }
      if (old != null) taken(-old.capacity.toLong) // somebody may still look into it
    }
  }

  private def readyChunk(position: Long): ByteBuffer = {
    val number = chunkNumberOf(position)
    if (ring(number) == null) ring(number) = allocated(chunkBytes)
    ring(number)
  }

  /**
   * Null if there is none: then nothing is kept from now on. What it may take is said by memory.maxBytes, not by what the
   * JVM allows all direct buffers, which is as much as the heap and no more.
   */
  private def allocated(bytes: Int): ByteBuffer =
    try {
      val memory = Platform.allocateDirectBuffer(bytes).order(ByteOrder.nativeOrder)
      blank(memory)
      taken(bytes.toLong)
      memory
    } catch {
      case _: OutOfMemoryError =>
        isOff = true
        index = null
        null
    }

  /** What the JVM allocates itself is blank, what Spark allocates is not. */
  private def blank(memory: ByteBuffer): Unit = {
    var at = 0
    while (at < memory.capacity) {
      val length = Math.min(Zeros.length, memory.capacity - at)
      memory.put(at, Zeros, 0, length)
      at += length
    }
  }

  private def setOf(hash: Long): Int = (tagOf(hash) & (sets - 1)) * Ways * 8

  /** Whether a position that was written to was not overwritten since. */
  private def isThere(position: Long): Boolean =
    (position >> chunkShift) > ((next - 1) >> chunkShift) - chunks

  private def isOld(position: Long): Boolean = position < next - (span - span / OldShare)

  private def chunkOf(position: Long): ByteBuffer = ring(chunkNumberOf(position))

  private def chunkNumberOf(position: Long): Int = ((position >> chunkShift) % chunks).toInt

  private def offsetOf(position: Long): Int = (position & (chunkUnits - 1)).toInt * Grain
}

private[rocksdb] object RecordShard {

  /** With less, an eighth of it would hold nothing. */
  final val LeastChunks = 4

  private final val Grain = 16 // bytes
  private final val HeaderBytes = 16
  private final val Ways = 8
  private final val FirstSets = 64
  private final val TagBits = 24
  private final val TagMask = (1L << TagBits) - 1

  /** The index has no more slots than records of so many bytes would need. */
  private final val LeastPerSlot = 64

  /** The part of the ring that is old, one in so many. */
  private final val OldShare = 8

  private val Zeros = new Array[Byte](64 << 10)

  /** Its lower bits are the set. */
  private def tagOf(hash: Long): Int = (hash >>> 16).toInt & TagMask.toInt

  private def positionOf(slot: Long): Long = (slot >>> TagBits) - 1

  private def unitsOf(length: Int): Long = (HeaderBytes + length + Grain - 1L) / Grain
}
