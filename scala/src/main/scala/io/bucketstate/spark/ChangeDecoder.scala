package io.bucketstate.spark

import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.execution.streaming.state.RecordType

import io.bucketstate.checkpoint.changelog.Change
import io.bucketstate.checkpoint.records.FamilyEncodings
import io.bucketstate.record.{Record, RecordOp}
import io.bucketstate.spark.rows.{KeyCodecs, RowListCodec, RowSpace}

/** Changes of one column family as Spark's change feed describes them. Not thread-safe. */
private[spark] final class ChangeDecoder(family: FamilySchema) {
  private[this] val keys = KeyCodecs.forSpec(
    family.name,
    family.keySpec,
    family.valueSchema,
    FamilyEncodings.specOf("The query", family.descriptor(0)).bucketKey
  )
  private[this] val values = family.newRowCodec()
  private[this] val lists = new RowListCodec(values, family.valueSchema.length)

  /**
   * Kind of change, key, value or null, and the batch; as everywhere, batch n makes version n + 1. Where
   * keys have several values, a change is a row for each: what replaces the values is a put and then
   * merges.
   */
  def decode(change: Change): Iterator[(RecordType.Value, UnsafeRow, UnsafeRow, Long)] = {
    val batch = change.version - 1
    val record = change.record
    val key = keys.decode(record, new RowSpace(keys.numFields))
    val from = Record.keyEnd(record)
    change.op match {
      case RecordOp.Remove => Iterator.single((RecordType.DELETE_RECORD, key, null, batch))
      case RecordOp.Put if !family.multiValued =>
        val row = new UnsafeRow(family.valueSchema.length)
        val value = values.decode(record, change.family.rowAt(record, from), record.length, row)
        Iterator.single((RecordType.PUT_RECORD, key, value, batch))
      case op =>
        lists.all(record, from).zipWithIndex.map { case (value, i) =>
          val kind =
            if (op == RecordOp.Put && i == 0) RecordType.PUT_RECORD else RecordType.MERGE_RECORD
          (kind, key, value, batch)
        }
    }
  }
}
