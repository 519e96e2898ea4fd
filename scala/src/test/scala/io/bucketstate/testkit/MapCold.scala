package io.bucketstate.testkit

import io.bucketstate.record.{
  BucketAssigner,
  BucketKey,
  KeyRange,
  Record,
  RecordBuffer,
  RecordOp,
  RecordSink
}

/**
 * A cold part with one family, number 0, of strings. Refuses to answer once it is closed.
 *
 * @param isCounted whether it says how many keys it has
 */
final class MapCold(
    override val version: Long,
    content: Map[String, String],
    assigner: BucketAssigner,
    bucketKey: BucketKey = BucketKey.Whole,
    isCounted: Boolean = true
) extends WatchedCold {
  private val byKey = content.map { case (key, value) =>
    key -> Record.of(key.getBytes, value.getBytes)
  }
  private lazy val byBucket = byKey.groupBy { case (key, _) =>
    TextRecords.key(key, assigner, bucketKey).bucket
  }

  /** Called when a range was handed out, before anybody has looked at it. */
  @volatile var answered: () => Unit = () => ()

  /** Called when a range is asked for. */
  @volatile var asked: () => Unit = () => ()

  override def wholeBytes: Long = 100L * content.size

  override def keyCount(family: Int): Option[Long] = {
    requireOpen()
    if (family == 0) Option.when(isCounted)(content.size.toLong) else Some(0L)
  }

  override def find(family: Int, key: RecordBuffer): Array[Byte] = {
    requireOpen()
    val name = TextRecords.keyOf(key.toKeyRecord)
    if (family == 0) byKey.getOrElse(name, null) else null
  }

  /** Takes every third key that is not there for one that may be. */
  override def mayHold(family: Int, key: RecordBuffer): Boolean = {
    requireOpen()
    val name = TextRecords.keyOf(key.toKeyRecord)
    family == 0 && (byKey.contains(name) || name.hashCode % 3 == 0)
  }

  override def scan(family: Int, bucket: Int, sink: RecordSink): Unit =
    if (family == 0)
      byBucket
        .get(bucket)
        .foreach(_.values.foreach { record =>
          requireOpen()
          sink(record, RecordOp.Put)
        })

  override def range(family: Int, bucket: Int, keys: KeyRange, most: Int)(
      sink: Array[Byte] => Unit
  ): Unit = if (family == 0) {
    requireOpen()
    asked()
    byBucket
      .getOrElse(bucket, Map.empty)
      .values
      .filter(record => keys.holds(record))
      .toSeq
      .sortWith(Record.compareKeys(_, _) < 0)
      .take(most)
      .foreach(sink)
    answered()
  }
}
