package io.bucketstate.checkpoint

/**
 * Several cursors as one: of each key the record of the newest that has it.
 *
 * @param newestFirst  closed with the merge
 * @param dropRemovals true when nothing older is left that a removal could hide
 */
final class RunMerge(newestFirst: Seq[RecordCursor], dropRemovals: Boolean) extends RecordCursor {
  private[this] val cursors = newestFirst.toArray
  // A binary heap of indexes into `cursors`, the smallest key on top, of equal keys the newest.
  private[this] val heap = new Array[Int](cursors.length)
  private[this] var size = -1 // negative until the cursors were started
  private[this] var current: RecordCursor = _

  def advance(): Boolean = {
    if (size < 0) start()
    else if (current != null) step()
    while (current != null && dropRemovals && current.isRemoval) step()
    current != null
  }

  def family: Int = current.family

  def bucket: Int = current.bucket

  def record: Array[Byte] = current.record

  def isRemoval: Boolean = current.isRemoval

  def close(): Unit = {
    size = 0
    current = null
    RunMerge.closeAll(cursors.toSeq)
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
  private def step(): Unit = {
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

  private def settle(): Unit = current = if (size == 0) null else cursors(heap(0))

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

object RunMerge {

  /** Closes all, also when some of that fails; throws the first failure. */
  private[checkpoint] def closeAll(all: Seq[AutoCloseable]): Unit = {
    var first: Throwable = null
    all.foreach { one =>
      try one.close()
      catch {
        case failure: Throwable if first == null => first = failure
        case failure: Throwable                  => first.addSuppressed(failure)
      }
    }
    if (first != null) throw first
  }
}
