package io.bucketstate.checkpoint.records

import io.bucketstate.checkpoint.io.Closing
import io.bucketstate.table.RecordOp

/**
 * Several cursors as one: of each key the record of the newest that has it, with what that appends to.
 *
 * @param newestFirst  closed with the merge
 * @param dropRemovals true when nothing older is left that a removal could hide, or a value be appended to
 */
final class RunMerge(newestFirst: Seq[RecordCursor], dropRemovals: Boolean) extends RecordCursor {
  private[this] val cursors = newestFirst.toArray
  // A binary heap of indexes into `cursors`, the smallest key on top, of equal keys the newest.
  private[this] val heap = new Array[Int](cursors.length)
  private[this] var size = -1 // negative until the cursors were started
  private[this] var current: RecordCursor = _
  private[this] val combined = new CombinedRecord

  def advance(): Boolean = {
    if (size < 0) start()
    else if (current != null) step()
    while (current != null && dropRemovals && current.isRemoval) step()
    current != null
  }

  def family: Int = current.family

  def bucket: Int = current.bucket

  def record: Array[Byte] = current.record

  def op: Byte = current.op

  def close(): Unit = {
    size = 0
    current = null
    Closing.all(cursors.toSeq)
  }

  private def start(): Unit = {
    size = 0
    cursors.indices.foreach { i =>
      if (cursors(i).advance()) {
        heap(size) = i
        size += 1
      }
    }
    (size / 2 - 1 to 0 by -1).foreach(sink)
    settle()
  }

  /** Past the current key, in every cursor that has it. */
  private def step(): Unit = if (current eq combined) {
    while (size > 0 && RecordCursor.compare(cursors(heap(0)), combined) == 0) pass(0)
    settle()
  } else {
    val passed = current
    var shadowed = equalOnTop(1, passed) || equalOnTop(2, passed)
    while (shadowed) {
      val below = if (equalOnTop(1, passed)) 1 else 2
      pass(below)
      shadowed = equalOnTop(1, passed) || equalOnTop(2, passed)
    }
    pass(0)
    settle()
  }

  private def equalOnTop(at: Int, top: RecordCursor): Boolean =
    at < size && RecordCursor.compare(cursors(heap(at)), top) == 0

  private def pass(at: Int): Unit = {
    if (!cursors(heap(at)).advance()) {
      size -= 1
      heap(at) = heap(size)
    }
    if (at < size) sink(at)
  }

  private def settle(): Unit = {
    current = if (size == 0) null else cursors(heap(0))
    if (current != null && current.op == RecordOp.Merge) combine()
  }

  /** Goes on through the cursors that have the key until what is appended to is found. */
  private def combine(): Unit = {
    val stack = new MergeStack(current.record, current.op)
    combined.stand(current.family, current.bucket, current.record)
    pass(0)
    while (stack.isOpen && size > 0 && RecordCursor.compare(cursors(heap(0)), combined) == 0) {
      stack.add(cursors(heap(0)).record, cursors(heap(0)).op)
      pass(0)
    }
    if (dropRemovals) stack.close()
    combined.hold(stack)
    current = combined
  }

  private def sink(from: Int): Unit = {
    val moved = heap(from)
    var at = from
    var child = smallerChild(at)
    while (child >= 0 && isBefore(heap(child), moved)) {
      heap(at) = heap(child)
      at = child
      child = smallerChild(at)
    }
    heap(at) = moved
  }

  private def smallerChild(at: Int): Int = {
    val left = 2 * at + 1
    if (left >= size) -1
    else if (left + 1 < size && isBefore(heap(left + 1), heap(left))) left + 1
    else left
  }

  private def isBefore(a: Int, b: Int): Boolean = {
    val order = RecordCursor.compare(cursors(a), cursors(b))
    if (order != 0) order < 0 else a < b
  }
}

/** A record made of several, where the merge stands. */
private final class CombinedRecord extends RecordCursor {
  private[this] var familyNow = 0
  private[this] var bucketNow = 0
  private[this] var recordNow: Array[Byte] = _
  private[this] var opNow: Byte = 0

  def stand(family: Int, bucket: Int, record: Array[Byte]): Unit = {
    familyNow = family
    bucketNow = bucket
    recordNow = record
  }

  def hold(stack: MergeStack): Unit = {
    recordNow = stack.record
    opNow = stack.op
  }

  def advance(): Boolean = throw new UnsupportedOperationException("a single record")

  def family: Int = familyNow

  def bucket: Int = bucketNow

  def record: Array[Byte] = recordNow

  def op: Byte = opNow

  def close(): Unit = ()
}
