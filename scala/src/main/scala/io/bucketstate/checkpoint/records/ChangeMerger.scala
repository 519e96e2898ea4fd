package io.bucketstate.checkpoint.records

import java.util.Arrays

import io.bucketstate.record.{RecordOp, RecordSink}

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
  private[this] val sources = newestFirst.toArray
  private[this] val families =
    newestFirst.iterator.flatMap(_.families).filter(wanted).toArray.distinct.sorted
  private[this] val sorter = new RecordOrder
  private[this] var place = -1L // of the loaded bucket: family index * numBuckets + bucket
  private[this] var records = new Array[Array[Byte]](0) // of the bucket, newest source first
  private[this] var ops = new Array[Byte](0)
  private[this] var order = new Array[Int](0)
  private[this] var loaded = 0
  private[this] var next = 0 // in `order`: the first record of the next key
  private[this] var recordNow: Array[Byte] = _
  private[this] var opNow: Byte = 0

  private[this] val sink: RecordSink = (record, op) => {
    if (loaded == records.length) {
      val room = math.max(64, 2 * loaded)
      records = Arrays.copyOf(records, room)
      ops = Arrays.copyOf(ops, room)
    }
    records(loaded) = record
    ops(loaded) = op
    loaded += 1
  }

  def advance(): Boolean = {
    while (next >= loaded && place + 1 < families.length.toLong * numBuckets) {
      place += 1
      load()
    }
    val more = next < loaded
    if (more) take()
    more
  }

  def family: Int = families((place / numBuckets).toInt)

  def bucket: Int = (place % numBuckets).toInt

  def record: Array[Byte] = recordNow

  def op: Byte = opNow

  def close(): Unit = {
    records = new Array[Array[Byte]](0)
    recordNow = null
    loaded = 0
    next = 0
    place = families.length.toLong * numBuckets
  }

  private def load(): Unit = {
    // What the bucket before held must not be kept longer than its records are wanted.
    Arrays.fill(records.asInstanceOf[Array[AnyRef]], 0, loaded, null)
    loaded = 0
    next = 0
    sources.foreach(_.read(family, bucket, sink))
    if (order.length < loaded) order = new Array[Int](records.length)
    sorter.sort(records, loaded, order)
  }

  /** One record in place of those of the next key. */
  private def take(): Unit = {
    val newest = order(next)
    recordNow = records(newest)
    opNow = ops(newest)
    val from = next
    next += 1
    while (next < loaded && RecordCursor.hasKeyOf(recordNow, records(order(next)))) next += 1
    if (RecordOp.isOpen(opNow) && next > from + 1) combine(from, next)
  }

  private def combine(from: Int, until: Int): Unit = {
    val stack = new MergeStack(recordNow, opNow, family)
    var i = from + 1
    while (stack.isOpen && i < until) {
      stack.add(records(order(i)), ops(order(i)))
      i += 1
    }
    recordNow = stack.record
    opNow = stack.op
  }
}
