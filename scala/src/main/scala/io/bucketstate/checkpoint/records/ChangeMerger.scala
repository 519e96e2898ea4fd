package io.bucketstate.checkpoint.records

import java.util.{Arrays, Comparator}

import io.bucketstate.table.RecordSink

/**
 * Puts the records of several versions into a run's order, each key once: its newest record, with what
 * that appends to. Holds one bucket at a time, whatever the size of the whole.
 *
 * @param newestFirst where the records come from; a source shadows those behind it
 * @param wanted      families whose records are to come out
 */
final class ChangeMerger(
    newestFirst: Seq[BucketSource],
    numBuckets: Int,
    wanted: Int => Boolean = _ => true
) extends RecordCursor {
  import ChangeMerger._

  private[this] val sources = newestFirst.toArray
  private[this] val families =
    newestFirst.iterator.flatMap(_.families).filter(wanted).toArray.distinct.sorted
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

  def op: Byte = loaded(at).op

  def close(): Unit = {
    loaded = new Array[Item](0)
    count = 0
    place = families.length.toLong * numBuckets
  }

  private def load(): Unit = {
    var n = 0
    val sink: RecordSink = (record, op) => {
      if (n == loaded.length) loaded = Arrays.copyOf(loaded, math.max(64, 2 * n))
      loaded(n) = new Item(record, op)
      n += 1
    }
    sources.foreach(_.read(family, bucket, sink))
    // Stable, so that of equal keys the one of the newest source comes first.
    Arrays.sort(loaded, 0, n, ByKey)
    count = 0
    var i = 0
    while (i < n) {
      var next = i + 1
      while (next < n && ByKey.compare(loaded(i), loaded(next)) == 0) next += 1
      loaded(count) = if (next == i + 1) loaded(i) else combined(i, next)
      count += 1
      i = next
    }
  }

  /** One item in place of those of a key, newest first. */
  private def combined(from: Int, until: Int): Item = {
    val stack = new MergeStack(loaded(from).record, loaded(from).op)
    var i = from + 1
    while (stack.isOpen && i < until) {
      stack.add(loaded(i).record, loaded(i).op)
      i += 1
    }
    new Item(stack.record, stack.op)
  }
}

private object ChangeMerger {
  final class Item(val record: Array[Byte], val op: Byte)

  val ByKey: Comparator[Item] = (a, b) => RecordCursor.compareKeys(a.record, b.record)
}
