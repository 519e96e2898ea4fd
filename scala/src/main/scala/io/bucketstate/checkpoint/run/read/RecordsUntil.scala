package io.bucketstate.checkpoint.run.read

import io.bucketstate.checkpoint.records.{CursorBehind, RecordCursor}
import io.bucketstate.record.KeyRange

/** Records of one bucket, in the order of their keys, up to the end of a range. For one thread. */
private[run] final class RecordsUntil(records: RecordCursor, keys: KeyRange)
    extends CursorBehind(records) {
  override def advance(): Boolean = records.advance() && keys.isAbove(records.record)
}
