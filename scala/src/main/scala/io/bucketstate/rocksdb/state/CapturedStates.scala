package io.bucketstate.rocksdb.state

import java.lang.ref.WeakReference

import scala.collection.mutable

import org.rocksdb.{
  ColumnFamilyHandle,
  ReadOptions,
  RocksDB,
  RocksDBException,
  RocksIterator,
  Snapshot
}

import io.bucketstate.record.RecordBuffer
import io.bucketstate.rocksdb.RecordCache

/**
 * A native snapshot, which keeps what it shows from being compacted away until it is released.
 *
 * @param at       reads it
 * @param byNumber the native column families at that time, null for numbers of no family
 * @param parts    of these in the cache of records
 * @param epoch    of the snapshot in that cache
 */
private[rocksdb] final class HeldSnapshot(
    val snapshot: Snapshot,
    val at: ReadOptions,
    val byNumber: Array[ColumnFamilyHandle],
    val parts: Array[Int],
    val epoch: RecordCache.Epoch
)

/**
 * The states of a database that were captured and that somebody may still read, and how they are read. Thread-safe; throws
 * `UnavailableException` once the database is closed, `CorruptException` if it cannot be read: to read it again is of no use,
 * the checkpoint has what is needed.
 */
private[rocksdb] final class CapturedStates(
    db: RocksDB,
    gate: DatabaseGate,
    records: RecordCache
) {

  // By what they hold: a table that was dropped releases none of its states, it is just not there any more.
  private[this] val states = mutable.HashMap.empty[HeldSnapshot, WeakReference[AnyRef]]

  /** @param state reads it: when nobody can reach that any more, what it reads is let go */
  def add(held: HeldSnapshot, state: AnyRef): Unit = synchronized {
    disposeUnreachable()
    states(held) = new WeakReference(state)
  }

  def nonEmpty: Boolean = synchronized {
    disposeUnreachable()
    states.nonEmpty
  }

  /** That are read. */
  def families: Set[ColumnFamilyHandle] =
    synchronized(states.keysIterator.flatMap(_.byNumber).toSet)

  /** There are none any more but for whoever closes these. */
  def takeAll(): Seq[AutoCloseable] = synchronized {
    val all = states.keysIterator.map[AutoCloseable](held => () => dispose(held)).toSeq
    states.clear()
    all
  }

  /** Nobody reads it any more. May be called more than once. */
  def release(held: HeldSnapshot): Unit = gate.ifOpen {
    if (synchronized(states.remove(held)).isDefined) dispose(held)
  }

  /** The record of a key of a family that is there, or null. */
  def find(held: HeldSnapshot, family: Int, key: RecordBuffer): Array[Byte] = {
    val stamp = gate.enter()
    try {
      val part = held.parts(family)
      val known = records.find(part, key, held.epoch)
      if (known != null) known
      else {
        val record = read(held.byNumber(family), held.at, family, key)
        if (record != null) records.found(part, key, record, held.epoch)
        record
      }
    } catch {
      case e: RocksDBException => throw gate.unreadable(e)
    } finally gate.leave(stamp)
  }

  private def read(
      handle: ColumnFamilyHandle,
      at: ReadOptions,
      family: Int,
      key: RecordBuffer
  ): Array[Byte] = {
    val scratch = Scratch.ofThread
    val keyLength = scratch.putKey(family, key)
    var room = scratch.value
    var length = db.get(handle, at, scratch.key, 0, keyLength, room, 0, room.length)
    if (length > room.length) {
      scratch.growValue(length)
      room = scratch.value
      length = db.get(handle, at, scratch.key, 0, keyLength, room, 0, room.length)
    }
    if (length < 0) null else scratch.record(keyLength, length)
  }

  /** False only if the key is not there. */
  def mayHold(held: HeldSnapshot, family: Int, key: RecordBuffer): Boolean = {
    val stamp = gate.enter()
    try {
      val scratch = Scratch.ofThread
      val keyLength = scratch.putKey(family, key)
      db.keyMayExist(held.byNumber(family), held.at, scratch.key, 0, keyLength, null)
    } finally gate.leave(stamp)
  }

  /** Reads the entries of a snapshot from a key on and before another one. */
  def iterate(
      handle: ColumnFamilyHandle,
      snapshot: Snapshot,
      from: Array[Byte],
      until: Array[Byte]
  )(read: RocksIterator => Unit): Unit = gate.whileOpen {
    val at = new ReadOptions().setSnapshot(snapshot).setTotalOrderSeek(true)
    try EntryRange.read(db, handle, at, from, until)(read)
    catch { case e: RocksDBException => throw gate.unreadable(e) }
  }

  /** With the lock held. */
  private def disposeUnreachable(): Unit =
    states.collect { case (held, state) if state.get == null => held }.foreach { held =>
      states -= held
      dispose(held)
    }

  private def dispose(held: HeldSnapshot): Unit = {
    held.at.close()
    db.releaseSnapshot(held.snapshot)
    held.snapshot.close()
  }
}
