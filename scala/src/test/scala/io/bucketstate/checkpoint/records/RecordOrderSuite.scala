package io.bucketstate.checkpoint.records

import org.scalacheck.Gen
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks

import io.bucketstate.record.Record
import io.bucketstate.testkit.TidySuite

/** The order that numbers give, against the order that comparing whole keys gives. */
class RecordOrderSuite extends TidySuite with ScalaCheckPropertyChecks {

  /** Few different bytes: so keys share beginnings, end within them, and are often equal. */
  private val bytes = Gen.oneOf(Seq[Byte](0, 1, 127, -128, -1))

  private val keys = for {
    shared <- Gen.choose(0, 12).flatMap(Gen.listOfN(_, bytes))
    count <- Gen.oneOf(Gen.choose(0, 5), Gen.choose(6, 300))
    mostBytes <- Gen.oneOf(1, 3, 9, 20)
    ends <- Gen.listOfN(count, Gen.choose(0, mostBytes).flatMap(Gen.listOfN(_, bytes)))
  } yield ends.map(shared ++ _)

  test("records come out by their keys' bytes, equal keys in the order they came in") {
    val sorter = new RecordOrder
    forAll(keys, minSuccessful(500)) { all =>
      // The value tells which one it was.
      val records = all.zipWithIndex.map { case (key, i) =>
        Record.of(key.toArray, Array.fill(i % 3)(i.toByte))
      }.toArray
      val order = new Array[Int](records.length)
      sorter.sort(records ++ Seq(null, null), records.length, order)
      val expected = records.indices.sortWith { (a, b) =>
        val differ = Record.compareKeys(records(a), records(b))
        differ < 0 || (differ == 0 && a < b)
      }
      assert(order.toSeq == expected)
    }
  }

  test("two records are of the same key only if the whole keys are the same") {
    forAll(keys, minSuccessful(50)) { all =>
      val records = all.map(key => Record.of(key.toArray, Array[Byte](1, 0)))
      for {
        (a, i) <- records.zipWithIndex.take(20)
        (b, j) <- records.zipWithIndex.take(20)
      } assert(RecordCursor.hasKeyOf(a, b) == (all(i) == all(j)))
    }
  }
}
