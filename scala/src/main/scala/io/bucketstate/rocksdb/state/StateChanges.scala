package io.bucketstate.rocksdb.state

import java.nio.ByteBuffer

import org.rocksdb.{ColumnFamilyHandle, WriteBatch}

import io.bucketstate.checkpoint.run.RunFormat
import io.bucketstate.record.{Record, RecordOp}
import io.bucketstate.rocksdb.DirectMemory

/**
 * Changes on their way into a database, some together. For one thread.
 *
 * @param handleOf the native column family of a family
 * @param valueOf  what a key has by now, null for nothing
 * @param write    takes what has come together
 * @param tell     is told of each change, with its family and its [[RecordOp]]
 */
final class StateChanges private[rocksdb] (
    handleOf: Int => ColumnFamilyHandle,
    valueOf: (ColumnFamilyHandle, Array[Byte]) => Array[Byte],
    write: WriteBatch => Unit,
    tell: (Int, Byte, Array[Byte]) => Unit
) {
  import StateChanges._

  private[this] val batch = new WriteBatch(PartBytes)
  private[this] var key = ByteBuffer.allocateDirect(1 << 10)
  private[this] var value = ByteBuffer.allocateDirect(1 << 14)
  private[this] var family = -1
  private[this] var handle: ColumnFamilyHandle = _

  /**
   * A change as files have it, each key once. What is appended to nothing is all that its key has: so it is in a run, of the
   * keys that no older one has, and in a changelog, where another attempt has left the key out of the one before it since.
   */
  def replay(ofFamily: Int, bucket: Int, op: Byte, record: Array[Byte]): Unit = {
    val isFirst = op == RecordOp.Merge && {
      val value = valueOf(handleOf(ofFamily), StoredValues.keyOf(ofFamily, bucket, record))
      value == null || StoredValues.isTombstone(value, value.length)
    }
    apply(ofFamily, bucket, if (isFirst) RecordOp.Put else op, record)
  }

  /** A change as a table has it, which appends only to what is there. */
  def apply(ofFamily: Int, bucket: Int, op: Byte, record: Array[Byte]): Unit = {
    if (ofFamily != family) {
      handle = handleOf(ofFamily)
      family = ofFamily
    }
    val end = Record.keyEnd(record)
    op match {
      case RecordOp.Remove =>
        putKey(bucket, record, end)
        batch.delete(handle, key)
      case RecordOp.Merge =>
        batch.merge(
          handle,
          StoredValues.keyOf(family, bucket, record),
          StoredValues.appendedBy(record)
        )
      case _ =>
        putKey(bucket, record, end)
        putValue(record, end)
        batch.put(handle, key, value)
    }
    tell(ofFamily, op, record)
    if (batch.getDataSize >= PartBytes) flush()
  }

  private[rocksdb] def flush(): Unit = if (batch.count > 0) {
    write(batch)
    batch.clear()
  }

  private[rocksdb] def close(): Unit = {
    batch.close()
    DirectMemory.free(key)
    DirectMemory.free(value)
  }

  private def putKey(bucket: Int, record: Array[Byte], end: Int): Unit = {
    val from = Record.keyStart(record)
    key = cleared(key, RunFormat.PrefixLength + end - from)
    key.putInt(RunFormat.prefix(family, bucket)).put(record, from, end - from).flip()
    ()
  }

  private def putValue(record: Array[Byte], end: Int): Unit = {
    value = cleared(value, 1 + record.length - end)
    value.put(RecordOp.Put).put(record, end, record.length - end).flip()
    ()
  }

  /** The buffer, or one in its place that has room for so many bytes. */
  private def cleared(buffer: ByteBuffer, length: Int): ByteBuffer =
    if (buffer.capacity >= length) buffer.clear()
    else {
      DirectMemory.free(buffer)
      ByteBuffer.allocateDirect(if (length > PartBytes) length else length * 2)
    }
}

private[rocksdb] object StateChanges {

  /** Larger ones keep readers waiting for longer, and memory. */
  final val PartBytes = 1 << 20
}
