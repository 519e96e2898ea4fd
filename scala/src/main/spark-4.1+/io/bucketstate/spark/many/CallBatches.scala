package io.bucketstate.spark.many

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{GenericInternalRow, UnsafeRow}

/**
 * One call of a function for one key.
 *
 * @param kept the stored row, of the state and perhaps of a timeout; null where there is none
 * @param rows of input; none for a key that timed out
 */
private[many] final case class Call(
    key: UnsafeRow,
    kept: UnsafeRow,
    timedOut: Boolean,
    rows: Iterator[InternalRow]
)

/** What of a batch every call of it is told. */
private[many] final case class Clocks(now: Long, watermark: Long)

/**
 * The lines of [[Protocol.input]] that calls become, cut into batches. A key's rows may lie in several.
 *
 * Nothing is copied: a line is to be written before the next one is asked for. Not thread-safe.
 *
 * @param stateFields of the state within a stored row
 * @param timeouts    whether a stored row has a timeout
 * @param maxRows     of a batch
 * @param maxBytes    of rows and states after which a batch ends
 * @param begun       told each key, in the order of the calls, before its first line
 */
private[many] final class CallBatches(
    calls: Iterator[Call],
    clocks: Clocks,
    stateFields: Int,
    timeouts: Boolean,
    maxRows: Int,
    maxBytes: Long,
    begun: UnsafeRow => Unit
) extends Iterator[Iterator[InternalRow]] {
  private var rows: Iterator[InternalRow] = Iterator.empty
  private val line = new GenericInternalRow(2)
  // A worker takes the columns of one struct for those of a table.
  private val wrapped = new GenericInternalRow(Array[Any](line))
  private val call = new GenericInternalRow(6)
  call.update(4, clocks.now)
  call.update(5, clocks.watermark)

  override def hasNext: Boolean = hasRow || calls.hasNext

  override def next(): Iterator[InternalRow] = new Batch

  /** Whether the key that was begun has another row. One of Spark's groups that has ended must not be asked again. */
  private def hasRow: Boolean = {
    val more = rows.hasNext
    if (!more) rows = Iterator.empty
    more
  }

  private final class Batch extends Iterator[InternalRow] {
    private var lines = 0
    private var bytes = 0L

    override def hasNext: Boolean = lines < maxRows && bytes < maxBytes && CallBatches.this.hasNext

    override def next(): InternalRow = {
      lines += 1
      if (hasRow) line.update(0, null) else begin(calls.next())
      line.update(1, if (hasRow) sized(rows.next()) else null)
      wrapped
    }

    private def begin(next: Call): Unit = {
      begun(next.key)
      rows = next.rows
      val kept = if (next.kept == null) null else sized(next.kept)
      call.update(0, next.key)
      call.update(1, if (kept == null || kept.isNullAt(0)) null else kept.getStruct(0, stateFields))
      call.update(2, if (kept == null || !timeouts) Protocol.NoTime else kept.getLong(1))
      call.update(3, next.timedOut)
      line.update(0, call)
    }

    private def sized[R <: InternalRow](row: R): R = {
      row match {
        case unsafe: UnsafeRow => bytes += unsafe.getSizeInBytes
        case _                 =>
      }
      row
    }
  }
}
