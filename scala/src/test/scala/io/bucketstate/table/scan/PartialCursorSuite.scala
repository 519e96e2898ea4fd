package io.bucketstate.table.scan

import java.util.Collections

import scala.collection.mutable.ArrayBuffer

import io.bucketstate.record.{KeyRange, Record}
import io.bucketstate.table.index.Cell
import io.bucketstate.testkit.TidySuite

/** How much of the cold part a scan reads at a time. */
class PartialCursorSuite extends TidySuite {

  private def records(count: Int, valueLength: Int): IndexedSeq[Array[Byte]] =
    (0 until count).map { n =>
      Record.of(Array((n >> 8).toByte, n.toByte), new Array[Byte](valueLength))
    }

  /** What each read took, in records and in bytes. */
  private def readsOf(all: IndexedSeq[Array[Byte]]): Seq[(Int, Long)] = {
    val reads = ArrayBuffer.empty[(Int, Long)]
    def read(keys: KeyRange, most: Int): Array[AnyRef] = {
      val found = all.filter(keys.holds).take(most)
      reads += found.size -> found.map(_.length.toLong).sum
      found.toArray[AnyRef]
    }
    val cursor = new PartialCursor(Collections.emptyIterator[Cell], new KeyRange(null, null), read)
    val seen = ArrayBuffer.empty[AnyRef]
    while (cursor.advance()) seen += cursor.slot
    assert(seen == all)
    reads.toSeq
  }

  test("small records are read more and more at a time") {
    val reads = readsOf(records(5000, 20))
    assert(reads.map(_._1).take(4) == Seq(16, 64, 256, 1024))
    assert(reads.size <= 9)
  }

  test("large ones are read by the megabyte, and those that are larger one by one") {
    val large = readsOf(records(200, 50000))
    assert(large.forall { case (_, bytes) => bytes <= (1 << 20) })
    assert(large.tail.init.forall { case (count, _) => count >= 16 })
    val larger = readsOf(records(40, 700000))
    assert(larger.tail.forall { case (count, _) => count <= 1 })
  }
}
