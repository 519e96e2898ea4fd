package io.bucketstate.testkit

import java.nio.charset.StandardCharsets.UTF_8

import io.bucketstate.record.{BucketAssigner, BucketKey, ColdState, Record, RecordBuffer, RecordOp}

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

  /** All that a cold part, which holds no changes, has of a family. */
  def contentOf(cold: ColdState, family: Int, numBuckets: Int): Map[String, String] = {
    val found = Map.newBuilder[String, String]
    (0 until numBuckets).foreach { bucket =>
      cold.scan(
        family,
        bucket,
        (record, op) => {
          require(op == RecordOp.Put, s"the operation $op, which is no put")
          found += keyOf(record) -> valueOf(record)
          ()
        }
      )
    }
    found.result()
  }

  /** What a scan gives, in order of the keys. */
  def pairsOf(records: Iterator[Array[Byte]]): Seq[(String, String)] =
    records.map(r => keyOf(r) -> valueOf(r)).toSeq.sorted
}
