package io.bucketstate.checkpoint.run

import java.util.Arrays

import io.bucketstate.checkpoint.records.RecordCursor
import io.bucketstate.table.Record

/** Records of one bucket, in the order of their keys, below a key. For one thread. */
private[run] final class RecordsUntil(records: RecordCursor, until: Array[Byte])
    extends RecordCursor {

  def advance(): Boolean = records.advance() && {
    val record = records.record
    Arrays.compareUnsigned(
      record,
      Record.keyStart(record),
      Record.keyEnd(record),
      until,
      0,
      until.length
    ) < 0
  }

  def family: Int = records.family

  def bucket: Int = records.bucket

  def record: Array[Byte] = records.record

  def op: Byte = records.op

  def close(): Unit = records.close()
}
