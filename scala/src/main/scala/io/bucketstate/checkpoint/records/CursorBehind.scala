package io.bucketstate.checkpoint.records

/** What another cursor stands on, unless a subclass says something else of it. For one thread. */
private[checkpoint] abstract class CursorBehind(records: RecordCursor) extends RecordCursor {
  override def advance(): Boolean = records.advance()
  override def family: Int = records.family
  override def bucket: Int = records.bucket
  override def record: Array[Byte] = records.record
  override def op: Byte = records.op
  override def close(): Unit = records.close()
}
