package io.bucketstate.checkpoint.changelog

/** Is given the records of a changelog one by one. */
trait RecordHandler {

  /**
   * @param op     one of [[io.bucketstate.record.RecordOp]]
   * @param buffer holds the record's body from `offset` on, for the time of this call only
   */
  def apply(block: ChangelogBlock, op: Byte, buffer: Array[Byte], offset: Int, length: Int): Unit
}
