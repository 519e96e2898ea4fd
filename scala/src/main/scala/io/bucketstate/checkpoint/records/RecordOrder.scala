package io.bucketstate.checkpoint.records

import java.util.{Arrays, Comparator}

import io.bucketstate.record.Record

/**
 * Puts records into the order of their key bytes, unsigned; those of equal keys stay in the order they came
 * in. Keeps its arrays from call to call. Not thread-safe.
 *
 * Records lie anywhere in the heap, so comparing two of them is two waits for memory. What differs first
 * in the keys is therefore taken out of each record once, and numbers are sorted; records are compared
 * only where those bytes are the same.
 */
private[checkpoint] final class RecordOrder {
  import RecordOrder._

  private[this] var numbers = new Array[Long](0)
  private[this] var records: Array[Array[Byte]] = _
  private[this] val byKey: Comparator[Integer] = (a, b) => {
    val order = Record.compareKeys(records(a), records(b))
    if (order != 0) order else Integer.compare(a, b)
  }

  /** Which of the first `count` records come one after another: fills the front of `order`. */
  def sort(all: Array[Array[Byte]], count: Int, order: Array[Int]): Unit = {
    records = all
    if (numbers.length < count) numbers = new Array[Long](math.max(count, 2 * numbers.length))
    val indexBits = Integer.SIZE - Integer.numberOfLeadingZeros(math.max(count - 1, 0))
    val shared = sharedBytes(count)
    var i = 0
    while (i < count) {
      // Flipping the sign bit makes signed numbers sort as unsigned ones do.
      val lead = (Record.leadingBytes(all(i), shared) ^ Long.MinValue) >> indexBits << indexBits
      numbers(i) = lead | i.toLong
      i += 1
    }
    Arrays.sort(numbers, 0, count)
    val index = (1L << indexBits) - 1
    i = 0
    while (i < count) {
      order(i) = (numbers(i) & index).toInt
      i += 1
    }
    refine(count, indexBits, order)
    records = null
  }

  /** Sorts anew those whose leading bytes are the same. */
  private def refine(count: Int, indexBits: Int, order: Array[Int]): Unit = {
    var from = 0
    while (from < count) {
      var until = from + 1
      while (until < count && numbers(until) >> indexBits == numbers(from) >> indexBits) until += 1
      if (until - from > FewEqual) sortBoxed(order, from, until)
      else if (until - from > 1) insert(order, from, until)
      from = until
    }
  }

  /** Insertion sort, which is stable: mostly a key that several versions have. */
  private def insert(order: Array[Int], from: Int, until: Int): Unit = {
    var i = from + 1
    while (i < until) {
      val moved = order(i)
      var at = i
      while (at > from && Record.compareKeys(records(order(at - 1)), records(moved)) > 0) {
        order(at) = order(at - 1)
        at -= 1
      }
      order(at) = moved
      i += 1
    }
  }

  private def sortBoxed(order: Array[Int], from: Int, until: Int): Unit = {
    val boxed = new Array[Integer](until - from)
    boxed.indices.foreach(i => boxed(i) = order(from + i))
    Arrays.sort(boxed, byKey)
    boxed.indices.foreach(i => order(from + i) = boxed(i))
  }

  /** How many first bytes all keys share. */
  private def sharedBytes(count: Int): Int =
    if (count == 0) 0
    else {
      val first = records(0)
      val from = Record.keyStart(first)
      var shared = Record.keyEnd(first) - from
      var i = 1
      while (i < count && shared > 0) {
        val other = records(i)
        val start = Record.keyStart(other)
        val end = math.min(start + shared, Record.keyEnd(other))
        val differs = Arrays.mismatch(first, from, from + shared, other, start, end)
        if (differs >= 0) shared = differs
        i += 1
      }
      shared
    }
}

private[records] object RecordOrder {

  /** Snapshots usually have no more versions than this: for more, n log n is worth its boxes. */
  private final val FewEqual = 16
}
