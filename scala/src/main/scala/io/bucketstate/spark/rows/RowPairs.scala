package io.bucketstate.spark.rows

import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.execution.streaming.state.UnsafeRowPair

import io.bucketstate.record.Record

/**
 * Records as Spark's pairs. The pair and its rows are the same ones again and again, as Spark's contract
 * allows: whoever keeps a row copies it. Scans that are open side by side do not disturb each other.
 *
 * @param readsValues is told when a value is asked for
 */
private[spark] abstract class RowPairs(
    records: Iterator[Array[Byte]],
    keys: KeyCodec,
    readsValues: () => Unit
) extends Iterator[UnsafeRowPair] {
  private[this] val keySpace = new RowSpace(keys.numFields)
  private[this] var record: Array[Byte] = _
  private[this] val pair = new LazyValuePair(() => {
    readsValues()
    valueOf(record, Record.keyEnd(record))
  })

  /** Decodes the value that starts at `from` in a record. */
  protected def valueOf(record: Array[Byte], from: Int): UnsafeRow

  override def hasNext: Boolean = records.hasNext

  override def next(): UnsafeRowPair = {
    record = records.next()
    pair.moveTo(keys.decode(record, keySpace))
    pair
  }
}
