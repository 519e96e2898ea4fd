package io.bucketstate.checkpoint.records

import java.util.Arrays

import io.bucketstate.record.{Record, RecordOp, TimeBuckets}

/**
 * What records at one version have expired: in files they are still there, and mean what a removal means.
 * Thread-safe.
 *
 * @param times of the families whose records have times, by number
 */
final class ExpiredRecords(times: Map[Int, TimeBuckets]) {

  /** Whether a record that is no removal has expired. */
  def holds(family: Int, record: Array[Byte]): Boolean =
    times.nonEmpty && times.get(family).exists(!_.shows(record))

  /** With removals in place of what has expired. */
  def removed(records: RecordCursor): RecordCursor =
    if (times.isEmpty) records else new Removing(records)

  /** Without what has expired, of records that nothing older lies behind. */
  def dropped(records: RecordCursor): RecordCursor =
    if (times.isEmpty) records else new RecordFilter(records, !hasExpired(_))

  private def hasExpired(at: RecordCursor): Boolean = !at.isRemoval && holds(at.family, at.record)

  private final class Removing(records: RecordCursor) extends CursorBehind(records) {
    private[this] var recordNow: Array[Byte] = _
    private[this] var opNow: Byte = 0

    override def advance(): Boolean = {
      val more = records.advance()
      if (more) {
        val isOver = hasExpired(records)
        val record = records.record
        opNow = if (isOver) RecordOp.Remove else records.op
        recordNow = if (isOver) Arrays.copyOf(record, Record.keyEnd(record)) else record
      }
      more
    }

    override def record: Array[Byte] = recordNow
    override def op: Byte = opNow
  }
}
