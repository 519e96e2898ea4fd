package io.bucketstate.checkpoint.snapshot

import java.util.concurrent.CancellationException

import io.bucketstate.background.WorkGate
import io.bucketstate.checkpoint.records.{CursorBehind, RecordCursor}

/** Passes a gate at each record; ends soon after it was cancelled. */
private[snapshot] final class GatedCursor(
    records: RecordCursor,
    gate: WorkGate,
    isCancelled: () => Boolean
) extends CursorBehind(records) {

  override def advance(): Boolean = {
    gate.pass()
    if (isCancelled()) throw new CancellationException("the store was closed")
    records.advance()
  }
}
