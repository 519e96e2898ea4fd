package io.bucketstate.spark.many

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.UnsafeRow

/**
 * One call of a function for one key.
 *
 * @param state    null where there is none
 * @param timeout  that is stored, or [[Protocol.NoTime]]
 * @param rows     of input; none for a key that timed out
 * @param bytes    of what is stored, about
 * @param settle   takes over what an answer's line says of the key
 * @param more     what one kind of call has beside the others, in the order of its fields
 */
private[many] final case class Call(
    key: InternalRow,
    state: InternalRow,
    timeout: Long,
    timedOut: Boolean,
    rows: Iterator[InternalRow],
    bytes: Long,
    settle: (Answer, Int) => Unit,
    more: Seq[Any] = Nil
)

private[many] object Call {

  /**
   * The call of a key whose state and perhaps timeout are one stored row.
   *
   * @param kept        that row; null where there is none
   * @param stateFields of the state within it
   * @param timeouts    whether it has a timeout
   */
  def of(
      key: UnsafeRow,
      kept: UnsafeRow,
      stateFields: Int,
      timeouts: Boolean,
      timedOut: Boolean,
      rows: Iterator[InternalRow],
      settle: (Answer, Int) => Unit
  ): Call = Call(
    key,
    if (kept == null || kept.isNullAt(0)) null else kept.getStruct(0, stateFields),
    if (kept == null || !timeouts) Protocol.NoTime else kept.getLong(1),
    timedOut,
    rows,
    if (kept == null) 0L else kept.getSizeInBytes.toLong,
    settle
  )
}

/** What of a batch every call of it is told. */
private[many] final case class Clocks(now: Long, watermark: Long)
