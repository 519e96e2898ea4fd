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

/** The states of a database that were captured and that somebody may still read, and how they are read. Thread-safe. */
private[rocksdb] final class CapturedStates(db: RocksDB, gate: DatabaseGate, records: RecordCache)
    extends NativeReads {

  // By what they hold: a table that was dropped releases none of its states, it is just not there any more.
  private[this] val states = mutable.HashMap.empty[HeldSnapshot, WeakReference[NativeState]]

  /** @param bytes that its data takes */
  def add(version: WrittenVersion, held: HeldSnapshot, bytes: Long): NativeState = {
    val state = new NativeState(version, this, held, bytes)
    synchronized {
      disposeUnreachable()
      states(held) = new WeakReference(state)
    }
    state
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

  override def release(state: NativeState): Unit = gate.ifOpen {
    if (synchronized(states.remove(state.held)).isDefined) dispose(state.held)
  }

  override def find(held: HeldSnapshot, family: Int, key: RecordBuffer): Array[Byte] = {
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

  override def mayHold(held: HeldSnapshot, family: Int, key: RecordBuffer): Boolean = {
    val stamp = gate.enter()
    try {
      val scratch = Scratch.ofThread
      val keyLength = scratch.putKey(family, key)
      db.keyMayExist(held.byNumber(family), held.at, scratch.key, 0, keyLength, null)
    } finally gate.leave(stamp)
  }

  override def iterate(
      handle: ColumnFamilyHandle,
      snapshot: Snapshot,
      from: Array[Byte],
      until: Array[Byte]
  )(read: RocksIterator => Unit): Unit = gate.whileOpen {
    val at = new ReadOptions().setSnapshot(snapshot).setTotalOrderSeek(true).setPinData(true)
    try EntryRange.read(db, handle, at, from, until)(read)
    catch { case e: RocksDBException => throw gate.unreadable(e) }
  }

  /** With the lock held. */
  private def disposeUnreachable(): Unit =
    states.collect { case (held, of) if of.get == null => held }.foreach { held =>
      states -= held
      dispose(held)
    }

  private def dispose(held: HeldSnapshot): Unit = {
    held.at.close()
    db.releaseSnapshot(held.snapshot)
    held.snapshot.close()
  }
}
