package io.bucketstate.spark

import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.execution.streaming.state.RecordType

import io.bucketstate.checkpoint.{Change, ChangelogOp}
import io.bucketstate.table.Record

/** Changes of one column family as Spark's change feed describes them. Not thread-safe. */
private[spark] final class ChangeDecoder(family: FamilySchema) {
  private[this] val keys = KeyCodecs.forSpec(family.keySpec, family.valueSchema)
  private[this] val values = new CompactRowCodec(family.valueSchema)

  /** Kind of change, key, value or null, and the batch; as everywhere, batch n makes version n + 1. */
  def decode(change: Change): (RecordType.Value, UnsafeRow, UnsafeRow, Long) = {
    val batch = change.version - 1
    val record = change.record
    change.op match {
      case ChangelogOp.Put =>
        val row = new UnsafeRow(family.valueSchema.length)
        val value = values.decode(record, Record.keyEnd(record), record.length, row)
        (RecordType.PUT_RECORD, keys.decode(record), value, batch)
      case ChangelogOp.Remove => (RecordType.DELETE_RECORD, keys.decode(record), null, batch)
      case other              =>
        throw new IllegalStateException(s"version ${change.version} has a record of kind $other")
    }
  }
}
