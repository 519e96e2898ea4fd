package io.bucketstate.spark

import java.util.{Arrays, Comparator}

import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.execution.streaming.state.UnsafeRowPair

import io.bucketstate.record.{Record, RecordBuffer, TimedValue}
import io.bucketstate.spark.rows.{KeyCodec, KeyCodecs, RowListCodec, RowPairs, RowSpace}
import io.bucketstate.table.FamilyState
import io.bucketstate.table.scan.RecordScan

/**
 * One column family of one opened store: rows on Spark's side, records on the table's. Not
 * thread-safe; each opened store has its own.
 *
 * Where keys have several values, `get`, `pairs` and the scans give the first one, as Spark's RocksDB
 * provider does. A row that `get` gives has bytes of its own; one of a scan is good until the next.
 */
private[spark] final class FamilyView(
    val schema: FamilySchema,
    state: FamilyState,
    buffer: RecordBuffer,
    ageing: Option[Ageing] = None
) {
  import FamilyView._

  private[this] val spec = state.spec

  val keys: KeyCodec = KeyCodecs.forSpec(
    schema.name,
    schema.keySpec,
    schema.valueSchema,
    spec.bucketKey
  )
  private[this] val values = schema.newRowCodec()
  private[this] val valueFields = schema.valueSchema.length
  private[this] val times = ageing.orNull
  private[this] val lists =
    if (schema.multiValued) new RowListCodec(values, valueFields) else null

  def get(key: UnsafeRow, at: Long): UnsafeRow = {
    keys.encode(key, buffer)
    val record = state.get(buffer, at)
    if (record == null) null else value(record, buffer.keyLength)
  }

  /** The values of several keys, null for those that are not there. */
  def getAll(rows: Array[UnsafeRow], at: Long): Iterator[UnsafeRow] = {
    val wanted = rows.map { row =>
      keys.encode(row, buffer)
      buffer.toKeyRecord
    }
    state.getAll(wanted, at).iterator.map { record =>
      if (record == null) null else value(record, Record.keyEnd(record))
    }
  }

  def contains(key: UnsafeRow, at: Long): Boolean = {
    keys.encode(key, buffer)
    state.contains(buffer, at)
  }

  def put(key: UnsafeRow, value: UnsafeRow): Unit = {
    keys.encode(key, buffer)
    if (lists != null) lists.encode(value, buffer)
    else if (spec.expiry.isDefined) {
      val space = buffer.valueSpace(values.maxSize(value) + TimedValue.Length)
      val row = TimedValue.put(space, buffer.keyEnd, startOf(key, value))
      buffer.valueDone(values.encode(value, space, row))
    } else {
      val space = buffer.valueSpace(values.maxSize(value))
      buffer.valueDone(values.encode(value, space, buffer.keyEnd))
    }
    state.put(buffer)
  }

  /** The time bucket of a pair that is put; none where the checkpoint has times and the query wants none. */
  private def startOf(key: UnsafeRow, value: UnsafeRow): Long =
    if (times == null) TimedValue.Never else times.startOf(key, value, state.writeTime)

  def remove(key: UnsafeRow): Unit = {
    keys.encode(key, buffer)
    state.remove(buffer)
  }

  def removeRange(from: UnsafeRow, until: UnsafeRow): Unit =
    state.removeRange(keys.encodeKey(from), keys.encodeKey(until))

  /** All values of a key; only where keys have several. */
  def valuesOf(key: UnsafeRow, at: Long): Iterator[UnsafeRow] = {
    keys.encode(key, buffer)
    val record = state.get(buffer, at)
    if (record == null) Iterator.empty else lists.all(record, buffer.keyLength)
  }

  def putAll(key: UnsafeRow, all: Array[UnsafeRow]): Unit = {
    keys.encode(key, buffer)
    lists.encodeAll(all, buffer)
    state.put(buffer)
  }

  def merge(key: UnsafeRow, value: UnsafeRow): Unit = {
    keys.encode(key, buffer)
    lists.encode(value, buffer)
    state.merge(buffer)
  }

  def mergeAll(key: UnsafeRow, all: Array[UnsafeRow]): Unit = {
    keys.encode(key, buffer)
    lists.encodeAll(all, buffer)
    state.merge(buffer)
  }

  /** All pairs at a version. */
  def pairs(at: Long): RecordScan = state.records(at)

  def prefixed(prefix: UnsafeRow, at: Long): RecordScan =
    state.prefixed(keys.encodePrefix(prefix), at)

  def ranged(from: Option[UnsafeRow], until: Option[UnsafeRow], at: Long): RecordScan =
    state.ranged(from.map(keys.encodeKey).orNull, until.map(keys.encodeKey).orNull, at)

  /**
   * All pairs at a version; those that have a prefix in common come one after the other. For a family that scans
   * prefixes: a bucket has all keys of a prefix, and holds so many as are kept here at a time.
   */
  def byPrefix(at: Long): ScannedPairs = {
    val all = Iterator.range(0, state.numBuckets).flatMap { bucket =>
      val scan = state.recordsOf(bucket, at)
      scan.readValues()
      val records = scan.toArray
      Arrays.sort(records, ByKey)
      rows(records.iterator, () => ())
    }
    ScannedPairs(all, () => ())
  }

  /** One pair of each record. */
  def rows(records: RecordScan): ScannedPairs =
    ScannedPairs(rows(records, () => records.readValues()), () => records.close())

  private def rows(
      records: Iterator[Array[Byte]],
      readsValues: () => Unit
  ): Iterator[UnsafeRowPair] =
    if (lists == null) {
      val space = new RowSpace(valueFields)
      new RowPairs(records, keys, readsValues) {
        override protected def valueOf(record: Array[Byte], from: Int): UnsafeRow =
          values.decode(record, spec.rowAt(record, from), record.length, space)
      }
    } else {
      new RowPairs(records, keys, readsValues) {
        override protected def valueOf(record: Array[Byte], from: Int): UnsafeRow =
          lists.first(record, from)
      }
    }

  /** A pair for each value of each record. */
  def allRows(records: RecordScan): ScannedPairs = {
    val pair = new UnsafeRowPair
    val space = new RowSpace(keys.numFields)
    val all = records.flatMap { record =>
      val key = keys.decode(record, space)
      lists.all(record, Record.keyEnd(record)).map(pair.withRows(key, _))
    }
    ScannedPairs(all, () => records.close())
  }

  private def value(record: Array[Byte], from: Int): UnsafeRow =
    if (lists == null)
      values.decode(record, spec.rowAt(record, from), record.length, new UnsafeRow(valueFields))
    else lists.first(record, from)
}

/**
 * The pairs of a scan.
 *
 * @param close ends it, also half-way: writes need not keep anything for it any more
 */
private[spark] final case class ScannedPairs(all: Iterator[UnsafeRowPair], close: () => Unit)

private object FamilyView {
  private val ByKey: Comparator[Array[Byte]] = (a, b) => Record.compareKeys(a, b)
}
