package io.bucketstate.checkpoint.run.read

import io.bucketstate.checkpoint.io.Closing
import io.bucketstate.checkpoint.records.RecordCursor

/**
 * Cursors as one, each to its end before the next is asked for anything: so of all files of a run only one
 * has a part of it in memory. For one thread.
 *
 * @param inOrder all records of one come before all of the next; closed with this
 */
private[run] final class ChainedCursor(inOrder: Seq[RecordCursor]) extends RecordCursor {
  private[this] val cursors = inOrder.toArray
  private[this] var at = 0

  def advance(): Boolean = {
    while (at < cursors.length && !cursors(at).advance()) {
      cursors(at).close()
      at += 1
    }
    at < cursors.length
  }

  def family: Int = cursors(at).family

  def bucket: Int = cursors(at).bucket

  def record: Array[Byte] = cursors(at).record

  def op: Byte = cursors(at).op

  def close(): Unit = {
    at = cursors.length
    Closing.all(cursors.toSeq)
  }
}
