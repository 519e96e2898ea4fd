package io.bucketstate.testkit

import java.nio.charset.StandardCharsets.UTF_8

import io.bucketstate.record.{BucketAssigner, BucketKey, Record, RecordBuffer}

/** Keys and values that are texts, as a table takes and gives them. */
object TextRecords {

  /** A key, in a buffer of its own. */
  def key(
      text: String,
      assigner: BucketAssigner,
      bucketKey: BucketKey = BucketKey.Whole
  ): RecordBuffer = {
    val buffer = new RecordBuffer(assigner)
    buffer.key(text.getBytes(UTF_8), bucketKey)
    buffer
  }

  /** A key with its value, in a buffer of its own. */
  def record(
      text: String,
      value: String,
      assigner: BucketAssigner,
      bucketKey: BucketKey = BucketKey.Whole
  ): RecordBuffer = {
    val buffer = key(text, assigner, bucketKey)
    val bytes = value.getBytes(UTF_8)
    System.arraycopy(bytes, 0, buffer.valueSpace(bytes.length), buffer.keyEnd, bytes.length)
    buffer.valueDone(buffer.keyEnd + bytes.length)
    buffer
  }

  def keyOf(record: Array[Byte]): String = {
    val start = Record.keyStart(record)
    new String(record, start, Record.keyEnd(record) - start, UTF_8)
  }

  def valueOf(record: Array[Byte]): String = {
    val start = Record.keyEnd(record)
    new String(record, start, record.length - start, UTF_8)
  }

  /** What a scan gives, in order of the keys. */
  def pairsOf(records: Iterator[Array[Byte]]): Seq[(String, String)] =
    records.map(r => keyOf(r) -> valueOf(r)).toSeq.sorted
}
