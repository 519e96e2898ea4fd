package io.bucketstate.checkpoint.snapshot

import java.util.concurrent.CancellationException

import io.bucketstate.checkpoint.records.{CursorBehind, RecordCursor}

/** What the making of a snapshot passes on its way, and may have to wait at. For one thread. */
trait SnapshotGate {

  /** The work begins, or more of it: it goes over about so many records, rather fewer. */
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
) extends CursorBehind(records) {

  override def advance(): Boolean = {
    gate.pass()
    if (isCancelled()) throw new CancellationException("the store was closed")
    records.advance()
  }
}
