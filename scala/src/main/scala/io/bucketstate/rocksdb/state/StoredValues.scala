package io.bucketstate.rocksdb.state

import java.util.Arrays

import io.bucketstate.checkpoint.run.RunFormat
import io.bucketstate.record.{Record, RecordOp}

/**
 * What databases hold: keys and values as in a run's files ([[RunFormat]]), so that those can be ingested as they are.
 * What was removed is gone, or has a tombstone where it was ingested. A value that RocksDB has appended to a tombstone is
 * all that the key has.
 */
private[rocksdb] object StoredValues {

  /** The record of an entry, or null if it says that the key was removed. */
  def record(
      key: Array[Byte],
      keyLength: Int,
      value: Array[Byte],
      valueLength: Int
  ): Array[Byte] =
    if (isTombstone(value, valueLength)) null
    else RunFormat.recordOf(key, keyLength, value, 0, valueLength)

  def isTombstone(value: Array[Byte], length: Int): Boolean =
    length == 1 && value(0) == RecordOp.Remove

  /** The key of a record as it is stored. */
  def keyOf(family: Int, bucket: Int, record: Array[Byte]): Array[Byte] = {
    val key = Arrays.copyOfRange(record, Record.keyStart(record), Record.keyEnd(record))
    RunFormat.keyOf(family, bucket, key)
  }

  /** What a record appends: RocksDB puts it behind the value that is there. */
  def appendedBy(record: Array[Byte]): Array[Byte] =
    Arrays.copyOfRange(record, Record.keyEnd(record), record.length)
}
