package io.bucketstate.checkpoint.records

import io.bucketstate.checkpoint.io.Closing
import io.bucketstate.record.{Record, RecordOp}

/**
 * Several cursors as one: of each key the record of the newest that has it, with what that appends to.
 *
 * What decides between two cursors is nearly always the bucket or the first bytes of the key. They are taken
 * out of each record once, when its cursor gets to it, so that comparing neither waits for the records'
 * memory nor asks cursors of many classes.
 *
 * @param newestFirst  closed with the merge
 * @param dropRemovals true when nothing older is left that a removal could hide, or a value be appended to
 */
final class RunMerge(newestFirst: Seq[RecordCursor], dropRemovals: Boolean) extends RecordCursor {
  private[this] val cursors = newestFirst.toArray
  // What each cursor stands on.
  private[this] val places = new Array[Long](cursors.length) // family, then bucket
  private[this] val leads = new Array[Long](cursors.length) // first bytes of the key
  private[this] val records = new Array[Array[Byte]](cursors.length)
  private[this] val ops = new Array[Byte](cursors.length)
  // A binary heap of indexes into these, the smallest key on top, of equal keys the newest.
  private[this] val heap = new Array[Int](cursors.length)
  private[this] var size = -1 // negative until the cursors were started
  // The merged record; null when there is none.
  private[this] var placeNow = 0L
  private[this] var recordNow: Array[Byte] = _
  private[this] var opNow: Byte = 0
  private[this] var isCombined = false // then the cursors it is made of are past it already

  def advance(): Boolean = {
    if (size < 0) start()
    else if (recordNow != null) step()
    while (recordNow != null && dropRemovals && !RecordOp.hasValue(opNow)) step()
    recordNow != null
  }

  def family: Int = (placeNow >>> 32).toInt

  def bucket: Int = placeNow.toInt

  def record: Array[Byte] = recordNow

  def op: Byte = opNow

  def close(): Unit = {
    size = 0
    recordNow = null
    java.util.Arrays.fill(records.asInstanceOf[Array[AnyRef]], null)
    Closing.all(cursors.toSeq)
  }

  private def start(): Unit = {
    size = 0
    cursors.indices.foreach { i =>
      if (moved(i)) {
        heap(size) = i
        size += 1
      }
    }
    (size / 2 - 1 to 0 by -1).foreach(sink)
    settle()
  }

  /** Past the current key, in every cursor that has it. */
  private def step(): Unit = {
    if (isCombined) isCombined = false // `combine` went past it
    else {
      val top = heap(0)
      var below = equalBelow(top)
      while (below > 0) {
        pass(below)
        below = equalBelow(top)
      }
      pass(0)
    }
    settle()
  }

  /** Where in the heap, right below the top, the top's key is too; 0 if nowhere. */
  private def equalBelow(top: Int): Int =
    if (size > 1 && order(heap(1), top) == 0) 1
    else if (size > 2 && order(heap(2), top) == 0) 2
    else 0

  private def pass(at: Int): Unit = {
    if (!moved(heap(at))) {
      size -= 1
      heap(at) = heap(size)
    }
    if (at < size) sink(at)
  }

  /** Takes a cursor to its next record, if there is one. */
  private def moved(i: Int): Boolean = {
    val cursor = cursors(i)
    val more = cursor.advance()
    if (more) {
      val record = cursor.record
      places(i) = (cursor.family.toLong << 32) | (cursor.bucket & 0xffffffffL)
      leads(i) = Record.leadingBytes(record, 0)
      records(i) = record
      ops(i) = cursor.op
    } else records(i) = null
    more
  }

  private def settle(): Unit =
    if (size == 0) recordNow = null
    else {
      val top = heap(0)
      placeNow = places(top)
      recordNow = records(top)
      opNow = ops(top)
      if (RecordOp.isOpen(opNow)) combine()
    }

  /** Goes on through the cursors that have the key, and adds up those until what is appended to is found. */
  private def combine(): Unit = {
    val key = recordNow
    val stack = new MergeStack(key, opNow, family)
    pass(0)
    while (
      size > 0 && places(heap(0)) == placeNow && RecordCursor.hasKeyOf(key, records(heap(0)))
    ) {
      if (stack.isOpen) stack.add(records(heap(0)), ops(heap(0)))
      pass(0)
    }
    if (dropRemovals) stack.close()
    recordNow = stack.record
    opNow = stack.op
    isCombined = true
  }

  private def sink(from: Int): Unit = {
    val sinking = heap(from)
    var at = from
    var child = smallerChild(at)
    while (child >= 0 && isBefore(heap(child), sinking)) {
      heap(at) = heap(child)
      at = child
      child = smallerChild(at)
    }
    heap(at) = sinking
  }

  private def smallerChild(at: Int): Int = {
    val left = 2 * at + 1
    if (left >= size) -1
    else if (left + 1 < size && isBefore(heap(left + 1), heap(left))) left + 1
    else left
  }

  private def isBefore(a: Int, b: Int): Boolean = {
    val by = order(a, b)
    if (by != 0) by < 0 else a < b
  }

  private def order(a: Int, b: Int): Int =
    if (places(a) != places(b)) java.lang.Long.compare(places(a), places(b))
    else if (leads(a) != leads(b)) java.lang.Long.compareUnsigned(leads(a), leads(b))
    else Record.compareKeys(records(a), records(b))
}
