package io.bucketstate.checkpoint.records

/** The records of some families alone: older runs may hold those of families that were removed since. */
private[checkpoint] final class FamilyFilter(records: RecordCursor, wanted: Int => Boolean)
    extends RecordCursor {

  def advance(): Boolean = {
    var more = records.advance()
    while (more && !wanted(records.family)) more = records.advance()
    more
  }

  def family: Int = records.family

  def bucket: Int = records.bucket

  def record: Array[Byte] = records.record

  def op: Byte = records.op

  def close(): Unit = records.close()
}
