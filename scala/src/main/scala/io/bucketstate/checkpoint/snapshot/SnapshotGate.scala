package io.bucketstate.checkpoint.snapshot

import java.util.concurrent.CancellationException

import io.bucketstate.checkpoint.records.RecordCursor

/** What the making of a snapshot passes on its way, and may have to wait at. For one thread. */
trait SnapshotGate {

  /** The work begins: it goes over about so many records, rather fewer. */
  def begin(records: Long): Unit

  /** One record more. */
  def pass(): Unit
}

object SnapshotGate {

  /** Lets everything pass. */
  object Open extends SnapshotGate {
    def begin(records: Long): Unit = ()
    def pass(): Unit = ()
  }
}

/** Passes a gate at each record; ends soon after it was cancelled. */
private[snapshot] final class GatedCursor(
    records: RecordCursor,
    gate: SnapshotGate,
    isCancelled: () => Boolean
) extends RecordCursor {

  def advance(): Boolean = {
    gate.pass()
    if (isCancelled()) throw new CancellationException("the store was closed")
    records.advance()
  }

  def family: Int = records.family

  def bucket: Int = records.bucket

  def record: Array[Byte] = records.record

  def op: Byte = records.op

  def close(): Unit = records.close()
}
