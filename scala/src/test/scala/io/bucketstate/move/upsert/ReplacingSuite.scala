package io.bucketstate.move.upsert

import scala.util.Random

import org.scalacheck.Gen
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks

import io.bucketstate.move.write.Place
import io.bucketstate.testkit.TidySuite

class ReplacingSuite extends TidySuite with ScalaCheckPropertyChecks {
  private type Records = Map[Int, Int]
  private val records: Gen[Records] = Gen.mapOf(Gen.zip(Gen.choose(0, 30), Gen.choose(0, 99)))

  private def record(key: Int, value: Int): (Array[Byte], Array[Byte]) = {
    val place = new Array[Byte](Place.Header + 1)
    Place.put(place, 0, 0, key % 3)
    place(Place.Header) = key.toByte
    // A value may be empty.
    (place, Array.fill(value)(value.toByte))
  }

  private def plain(record: (Array[Byte], Array[Byte])): (Int, Int) = {
    assert(record._2.forall(_ == record._2.length.toByte))
    (Replacing.key(record._1).head.toInt, record._2.length)
  }

  /** Sorted by place alone: which of two comes first is chance. */
  private def merged(
      all: Seq[(Array[Byte], Array[Byte])],
      replaced: (Int, Int) => Unit
  ): Iterator[(Array[Byte], Array[Byte])] = {
    val sorted = Random.shuffle(all).sortBy(_._1)(Place.ordering)
    def told(place: Array[Byte], value: Array[Byte]): Unit = {
      val (key, length) = plain((place, value))
      replaced(key, length)
    }
    new Replacing(sorted.iterator, told, place => new Twice(Replacing.key(place).head.toInt))
  }

  test("what is left is the state with the rows over it, and what gave way is told") {
    forAll(records, records) { (state, rows) =>
      val gone = Map.newBuilder[Int, Int]
      val all = state.toSeq.map { case (k, v) => Replacing.ofState(record(k, v)) } ++
        rows.toSeq.map { case (k, v) => Replacing.ofRows(record(k, v)) }
      val left = merged(all, (k, v) => gone += k -> v).map(plain).toSeq
      assert(left.size == (state ++ rows).size && left.toMap == state ++ rows)
      assert(gone.result() == state.filter { case (k, _) => rows.contains(k) })
    }
  }

  test("a key that rows have twice is named; one that the state has twice is passed on") {
    val rows = Seq(1, 2, 2).map(k => Replacing.ofRows(record(k, 5)))
    assert(intercept[Twice](merged(rows, (_, _) => ()).size).key == 2)
    val state = Seq(1, 2, 2).map(k => Replacing.ofState(record(k, 5)))
    assert(merged(state, (_, _) => ()).size == 3)
  }

  private final class Twice(val key: Int) extends Exception
}
