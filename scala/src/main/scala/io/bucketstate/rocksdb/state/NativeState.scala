package io.bucketstate.rocksdb.state

import java.lang.ref.Reference

import org.rocksdb.{ColumnFamilyHandle, RocksIterator}

import io.bucketstate.checkpoint.records.ExpiredRecords
import io.bucketstate.checkpoint.run.RunFormat
import io.bucketstate.record.{ColdState, KeyRange, RecordBuffer, RecordSink}

/**
 * The state at a version as a database has it: reads a native snapshot, so that what is written meanwhile changes no
 * answer.
 *
 * @param held  what it reads
 * @param bytes of live data in the database, about
 */
final class NativeState private[rocksdb] (
    val written: WrittenVersion,
    captured: CapturedStates,
    held: HeldSnapshot,
    bytes: Long
) extends ColdState {
  // What a state holds is let go when nobody can reach it any more: that must not be while it is being read.
  private[this] val byNumber = held.byNumber
  private[this] val expired = new ExpiredRecords(written.times)
  private[this] val counts = written.families.iterator.map(f => f.descriptor.id -> f).toMap

  override def version: Long = written.version

  override def keyCount(family: Int): Option[Long] =
    counts.get(family).fold(Option(0L))(_.keyCount)

  override def wholeBytes: Long = bytes * NativeState.Expansion

  override def find(family: Int, key: RecordBuffer): Array[Byte] =
    if (handleOf(family) == null) null
    else {
      val record =
        try captured.find(held, family, key)
        finally Reference.reachabilityFence(this)
      if (record != null && expired.holds(family, record)) null else record
    }

  override def mayHold(family: Int, key: RecordBuffer): Boolean =
    handleOf(family) != null && {
      try captured.mayHold(held, family, key)
      finally Reference.reachabilityFence(this)
    }

  override def scan(family: Int, bucket: Int, sink: RecordSink): Unit = {
    val prefix = RunFormat.prefix(family, bucket)
    iterate(family, RunFormat.seekKey(prefix), RunFormat.seekKey(prefix + 1)) { record =>
      sink.put(record)
      true
    }
  }

  override def range(family: Int, bucket: Int, keys: KeyRange, most: Int)(
      sink: Array[Byte] => Unit
  ): Unit = if (most > 0 && !keys.isEmpty) {
    def bound(key: Array[Byte], otherwise: => Array[Byte]) =
      if (key == null) otherwise else RunFormat.keyOf(family, bucket, key)
    val prefix = RunFormat.prefix(family, bucket)
    val from = bound(keys.from, RunFormat.seekKey(prefix))
    val until = bound(keys.until, RunFormat.seekKey(prefix + 1))
    var left = most
    iterate(family, from, until) { record =>
      sink(record)
      left -= 1
      left > 0
    }
  }

  /** May be called more than once. */
  override def release(): Unit = captured.release(held)

  private def handleOf(family: Int): ColumnFamilyHandle =
    if (family >= 0 && family < byNumber.length) byNumber(family) else null

  /** Calls with the records of some keys, in order, as long as more are wanted. */
  private def iterate(family: Int, from: Array[Byte], until: Array[Byte])(
      wantsMore: Array[Byte] => Boolean
  ): Unit = {
    val handle = handleOf(family)
    if (handle != null)
      try
        captured.iterate(handle, held.snapshot, from, until) { entries =>
          while (entries.isValid && isWanted(family, entries, wantsMore)) entries.next()
        }
      finally Reference.reachabilityFence(this)
  }

  private def isWanted(family: Int, entries: RocksIterator, wantsMore: Array[Byte] => Boolean) = {
    val (key, value) = (entries.key(), entries.value())
    val record = StoredValues.record(key, key.length, value, value.length)
    record == null || expired.holds(family, record) || wantsMore(record)
  }
}

private object NativeState {

  /** What a byte of a database takes on the heap: files are compressed, and have no headers and no empty slots. */
  private final val Expansion = 2L
}
