package io.bucketstate.spark.many

import scala.collection.mutable.ArrayBuffer

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{UnsafeProjection, UnsafeRow}
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String
import org.scalacheck.Gen
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks

import io.bucketstate.testkit.TidySuite

class CallBatchesSuite extends TidySuite with ScalaCheckPropertyChecks {
  private val state = new StructType().add("version", IntegerType).add("state", StringType)
  private val stored = new StructType().add("groupState", state).add("timeoutTimestamp", LongType)

  private def row(value: Long): UnsafeRow =
    UnsafeProjection.create(Array[DataType](LongType)).apply(InternalRow(value)).copy()

  private def kept(text: String, timeout: Long): UnsafeRow = {
    val held = if (text == null) null else InternalRow(1, UTF8String.fromString(text))
    UnsafeProjection.create(stored).apply(InternalRow(held, timeout)).copy()
  }

  private def called(
      key: UnsafeRow,
      kept: UnsafeRow,
      timeouts: Boolean,
      rows: Iterator[InternalRow]
  ): Call = Call.of(key, kept, 2, timeouts, timedOut = rows.isEmpty, rows, (_, _) => ())

  /** One line, as values: the key of its call if it has one, and its row. */
  private type Line = (Option[Long], Option[Long])

  private def linesOf(batches: CallBatches): Seq[Seq[Line]] =
    batches
      .map(_.map { wrapped =>
        val line = wrapped.getStruct(0, 2)
        val call =
          if (line.isNullAt(0)) None else Some(line.getStruct(0, 6).getStruct(0, 1).getLong(0))
        (call, if (line.isNullAt(1)) None else Some(line.getStruct(1, 1).getLong(0)))
      }.toSeq)
      .toSeq

  private def batches(
      groups: Seq[(Long, Seq[Long])],
      maxRows: Int = Int.MaxValue,
      maxBytes: Long = Long.MaxValue,
      begun: Long => Unit = _ => ()
  ): CallBatches = {
    val calls = groups.iterator.map { case (key, rows) =>
      // As Spark's groups do, one that has ended goes on with the next group's rows when it is asked again.
      val left = rows.iterator
      val group = new Iterator[InternalRow] {
        private var ended = false
        override def hasNext: Boolean = {
          assert(!ended, "asked again")
          ended = !left.hasNext
          !ended
        }
        override def next(): InternalRow = row(left.next())
      }
      called(row(key), null, timeouts = true, if (rows.isEmpty) Iterator.empty else group)
    }
    new CallBatches(
      calls,
      Clocks(5L, -1L),
      0,
      maxRows,
      maxBytes,
      call => begun(call.key.getLong(0))
    )
  }

  private val someGroups: Gen[Seq[(Long, Seq[Long])]] =
    Gen
      .listOf(Gen.nonEmptyListOf(Gen.choose(0L, 9L)))
      .map(_.zipWithIndex.map(_.swap).map { case (key, rows) =>
        (key.toLong, rows)
      })

  test("each row is one line, the first of a key with its call, however batches are cut") {
    forAll(someGroups, Gen.choose(1, 7)) { (groups, most) =>
      val begun = ArrayBuffer.empty[Long]
      val found = linesOf(batches(groups, maxRows = most, begun = begun += _))
      val expected = for {
        (key, rows) <- groups
        (value, at) <- rows.zipWithIndex
      } yield (Option.when(at == 0)(key), Some(value))
      assert(found.flatten == expected)
      assert(found.dropRight(1).forall(_.length == most))
      assert(begun.toSeq == groups.map(_._1))
    }
  }

  test("a batch ends behind the row that has it reach its bytes") {
    val groups = Seq(1L -> Seq(1L, 2L, 3L), 2L -> Seq(4L))
    assert(linesOf(batches(groups, maxBytes = 17L)).map(_.length) == Seq(2, 2))
    assert(linesOf(batches(groups, maxBytes = 1L)).map(_.length) == Seq(1, 1, 1, 1))
  }

  test("a key that timed out is one line without a row") {
    assert(
      linesOf(batches(Seq(1L -> Nil, 2L -> Nil))) == Seq(Seq((Some(1L), None), (Some(2L), None)))
    )
  }

  test("a call has what is stored of its key, and the clocks") {
    def line(found: UnsafeRow, timeouts: Boolean): InternalRow = {
      val calls = Iterator(called(row(1L), found, timeouts, Iterator(row(2L))))
      val made = new CallBatches(calls, Clocks(7L, 3L), 0, 10, 1000L, _ => ())
      made.next().next().getStruct(0, 2).getStruct(0, 6)
    }
    val whole = line(kept("{}", 9L), timeouts = true)
    assert(whole.getStruct(1, 2).getUTF8String(1).toString == "{}")
    assert(Seq(2, 4, 5).map(whole.getLong) == Seq(9L, 7L, 3L))
    assert(line(kept(null, 9L), timeouts = true).isNullAt(1))
    assert(line(kept("{}", 9L), timeouts = false).getLong(2) == Protocol.NoTime)
    val fresh = line(null, timeouts = true)
    assert(fresh.isNullAt(1) && fresh.getLong(2) == Protocol.NoTime)
  }
}
