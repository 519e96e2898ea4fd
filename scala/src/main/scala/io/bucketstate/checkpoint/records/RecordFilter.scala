package io.bucketstate.checkpoint.records

/** Some of the records alone: older runs may hold those of families that were removed since, or what has expired. */
private[checkpoint] final class RecordFilter(
    records: RecordCursor,
    isWanted: RecordCursor => Boolean
) extends RecordCursor {

  def advance(): Boolean = {
    var more = records.advance()
    while (more && !isWanted(records)) more = records.advance()
    more
  }

  def family: Int = records.family

  def bucket: Int = records.bucket

  def record: Array[Byte] = records.record

  def op: Byte = records.op

  def close(): Unit = records.close()
}
