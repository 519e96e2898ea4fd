package io.bucketstate.testkit

import io.bucketstate.bucket.{BucketAssigner, BucketKey}
import io.bucketstate.table.{ColdState, Record, RecordBuffer, RecordOp, RecordSink}

/** A cold part with one family, number 0, of strings. Refuses to answer once it is closed. */
final class MapCold(
    override val version: Long,
    content: Map[String, String],
    assigner: BucketAssigner
) extends ColdState {
  private val byKey = content.map { case (key, value) =>
    key -> Record.of(key.getBytes, value.getBytes)
  }
  private lazy val byBucket = byKey.groupBy { case (key, _) =>
    val buffer = new RecordBuffer(assigner)
    buffer.key(key.getBytes, BucketKey.Whole)
    buffer.bucket
  }

  /** Nobody may need it any more. */
  @volatile var isClosed = false

  private def required(family: Int): Unit = {
    assert(!isClosed, s"the cold part at $version was given up")
    assert(family == 0)
  }

  override def keyCount(family: Int): Long = {
    required(family)
    content.size.toLong
  }

  override def find(family: Int, key: RecordBuffer): Array[Byte] = {
    required(family)
    val record = key.toKeyRecord
    byKey.getOrElse(new String(record.drop(Record.keyStart(record))), null)
  }

  override def scan(family: Int, bucket: Int, sink: RecordSink): Unit =
    byBucket
      .get(bucket)
      .foreach(_.values.foreach { record =>
        required(family)
        sink(record, RecordOp.Put)
      })
}
