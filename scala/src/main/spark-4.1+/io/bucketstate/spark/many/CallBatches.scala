package io.bucketstate.spark.many

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{GenericInternalRow, UnsafeRow}

/**
 * The lines of [[Protocol.input]] that calls become, cut into batches. A key's rows may lie in several.
 *
 * Nothing is copied: a line is to be written before the next one is asked for. Not thread-safe.
 *
 * @param more     how many fields calls have beside those of every kind
 * @param maxRows  of a batch
 * @param maxBytes of rows and states after which a batch ends
 * @param begun    told each call, in their order, before its first line
 */
private[many] final class CallBatches(
    calls: Iterator[Call],
    clocks: Clocks,
    more: Int,
    maxRows: Int,
    maxBytes: Long,
    begun: Call => Unit
) extends Iterator[Iterator[InternalRow]] {
  private var rows: Iterator[InternalRow] = Iterator.empty
  private val line = new GenericInternalRow(2)
  // A worker takes the columns of one struct for those of a table.
  private val wrapped = new GenericInternalRow(Array[Any](line))
  private val call = new GenericInternalRow(Protocol.CallFields + more)
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
      begun(next)
      rows = next.rows
      bytes += next.bytes
      call.update(0, next.key)
      call.update(1, next.state)
      call.update(2, next.timeout)
      call.update(3, next.timedOut)
      var n = 0
      while (n < more) {
        call.update(Protocol.CallFields + n, next.more(n))
        n += 1
      }
      line.update(0, call)
    }

    private def sized(row: InternalRow): InternalRow = {
      row match {
        case unsafe: UnsafeRow => bytes += unsafe.getSizeInBytes
        case _                 =>
      }
      row
    }
  }
}
