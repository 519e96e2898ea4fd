package io.bucketstate.checkpoint.records

/** Some of the records alone: older runs may hold those of families that were removed since, or what has expired. */
private[checkpoint] final class RecordFilter(
    records: RecordCursor,
    isWanted: RecordCursor => Boolean
) extends CursorBehind(records) {

  override def advance(): Boolean = {
    var more = records.advance()
    while (more && !isWanted(records)) more = records.advance()
    more
  }
}
