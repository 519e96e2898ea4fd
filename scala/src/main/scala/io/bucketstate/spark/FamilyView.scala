package io.bucketstate.spark

import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.execution.streaming.state.{KeyStateEncoderSpec, UnsafeRowPair}
import org.apache.spark.sql.types.StructType

import io.bucketstate.checkpoint.FamilyDescriptor
import io.bucketstate.table.{FamilySpec, FamilyState, Record, RecordBuffer}

/** A column family as Spark describes it when it makes one. Immutable. */
private[spark] final case class FamilySchema(
    id: Int,
    name: String,
    keySchema: StructType,
    valueSchema: StructType,
    keySpec: KeyStateEncoderSpec
) {
  def scannable: Boolean = KeyCodecs.ordered(keySpec)

  def tableSpec: FamilySpec = FamilySpec(id, name, KeyCodecs.bucketKey(keySpec), scannable)

  /** What the changelog says of the family, so that a reader needs nothing else to take it apart. */
  def descriptor: FamilyDescriptor =
    FamilyDescriptor(id, name, KeyCodecs.name(keySpec), CompactRowCodec.Name)
}

/**
 * One column family of one opened store: rows on Spark's side, records on the table's. Not
 * thread-safe; each opened store has its own.
 *
 * Every row handed out has bytes of its own, so it stays as it is whatever the store does next.
 */
private[spark] final class FamilyView(
    val schema: FamilySchema,
    state: FamilyState,
    keys: KeyCodec,
    buffer: RecordBuffer
) {
  private[this] val values = new CompactRowCodec(schema.valueSchema)
  private[this] val valueFields = schema.valueSchema.length

  def get(key: UnsafeRow, at: Long): UnsafeRow = {
    keys.encode(key, buffer)
    val record = state.get(buffer, at)
    if (record == null) null
    else values.decode(record, buffer.keyLength, record.length, new UnsafeRow(valueFields))
  }

  def contains(key: UnsafeRow, at: Long): Boolean = {
    keys.encode(key, buffer)
    state.get(buffer, at) != null
  }

  def put(key: UnsafeRow, value: UnsafeRow): Unit = {
    keys.encode(key, buffer)
    val space = buffer.valueSpace(values.maxSize(value))
    buffer.valueDone(values.encode(value, space, buffer.keyEnd))
    state.put(buffer)
  }

  def remove(key: UnsafeRow): Unit = {
    keys.encode(key, buffer)
    state.remove(buffer)
  }

  /** All pairs at a version; the pair object is reused, as Spark's contract allows, its rows are not. */
  def pairs(at: Long): Iterator[UnsafeRowPair] = rows(state.records(at))

  def prefixed(prefix: UnsafeRow, at: Long): Iterator[UnsafeRowPair] =
    rows(state.prefixed(keys.encodePrefix(prefix), at))

  private def rows(records: Iterator[Array[Byte]]): Iterator[UnsafeRowPair] = {
    val pair = new UnsafeRowPair
    records.map { record =>
      val value =
        values.decode(record, Record.keyEnd(record), record.length, new UnsafeRow(valueFields))
      pair.withRows(keys.decode(record), value)
    }
  }

  def keyCount: Long = state.keyCount
}
