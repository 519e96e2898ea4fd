package io.bucketstate.checkpoint

import java.util.{Arrays, Comparator}

import io.bucketstate.table.RecordSink

/**
 * Puts the records of several versions into a run's order, the newest of each key alone. Holds one
 * bucket at a time, whatever the size of the whole.
 *
 * @param newestFirst where the records come from; a source shadows those behind it
 */
final class ChangeMerger(newestFirst: Seq[BucketSource], numBuckets: Int) extends RecordCursor {
  import ChangeMerger._

  private[this] val sources = newestFirst.toArray
  private[this] val families = newestFirst.iterator.flatMap(_.families).toArray.distinct.sorted
  private[this] var place = -1L // of the loaded bucket: family index * numBuckets + bucket
  private[this] var loaded = new Array[Item](0)
  private[this] var count = 0
  private[this] var at = -1

  def advance(): Boolean = {
    at += 1
    while (at >= count && place + 1 < families.length.toLong * numBuckets) {
      place += 1
      load()
      at = 0
    }
    if (at > count) at = count
    at < count
  }

  def family: Int = families((place / numBuckets).toInt)

  def bucket: Int = (place % numBuckets).toInt

  def record: Array[Byte] = loaded(at).record

  def isRemoval: Boolean = loaded(at).isRemoval

  def close(): Unit = {
    loaded = new Array[Item](0)
    count = 0
    place = families.length.toLong * numBuckets
  }

  private def load(): Unit = {
    var n = 0
    val sink: RecordSink = (record, removal) => {
      if (n == loaded.length) loaded = Arrays.copyOf(loaded, math.max(64, 2 * n))
      loaded(n) = new Item(record, removal)
      n += 1
    }
    sources.foreach(_.read(family, bucket, sink))
    // Stable, so that of equal keys the one of the newest source comes first.
    Arrays.sort(loaded, 0, n, ByKey)
    count = 0
    var i = 0
    while (i < n) {
      if (count == 0 || ByKey.compare(loaded(count - 1), loaded(i)) != 0) {
        loaded(count) = loaded(i)
        count += 1
      }
      i += 1
    }
  }
}

private object ChangeMerger {
  final class Item(val record: Array[Byte], val isRemoval: Boolean)

  val ByKey: Comparator[Item] = (a, b) => RecordCursor.compareKeys(a.record, b.record)
}
