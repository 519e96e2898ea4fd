package io.bucketstate.table.bucket

import io.bucketstate.error.InvalidException
import io.bucketstate.record.{
  BucketAssigner,
  BucketKey,
  FamilySpec,
  Record,
  RecordBuffer,
  RecordOp,
  Scans
}
import io.bucketstate.table.index.{FamilyIndex, OrderedIndex}
import io.bucketstate.testkit.{Changes, TidySuite}

/** Room for what is loaded: made once where it is known how much comes, and given back where less does. */
class BucketBuilderSuite extends TidySuite {
  private val assigner = new BucketAssigner(1)

  private def filled(scans: Scans, expected: Int, keys: Int): Bucket = {
    val spec = FamilySpec(Changes.descriptor(0), BucketKey.Whole, scans)
    val newIndex: () => FamilyIndex =
      if (scans == Scans.Nothing) null else () => new OrderedIndex
    val filling = new BucketBuilder(0, spec, assigner, newIndex, times = null, expected)
    for (key <- 0 until keys)
      filling(Record.of(Array((key >> 8).toByte, key.toByte), Array[Byte](1)), RecordOp.Put)
    filling.done()
    assert(filling.keys == keys && filling.bucket.size == keys)
    val buffer = new RecordBuffer(assigner)
    for (key <- 0 until keys) {
      buffer.key(Array((key >> 8).toByte, key.toByte), BucketKey.Whole)
      assert(filling.bucket.indexOf(buffer) >= 0)
    }
    filling.bucket
  }

  for (scans <- Seq(Scans.Nothing, Scans.Ranges)) {
    test(s"a bucket that gets what is expected is never made anew, $scans") {
      val room = filled(scans, expected = 1000, keys = 1).capacity
      assert(room < 100, "what did not come takes no memory")
      for (keys <- Seq(900, 1000, 1150))
        assert(filled(scans, expected = 1000, keys).capacity == SlotArrays.holding(1000))
    }

    test(s"a bucket takes more than is expected, and anything where nothing is known, $scans") {
      for {
        expected <- Seq(0, 1, 1000)
        keys <- Seq(0, 1, 5000)
      }
        assert(filled(scans, expected, keys).capacity <= SlotArrays.fitting(keys) * 2)
    }
  }

  test("a list that a commit takes is loaded, and one that it would not take is refused") {
    val spec = FamilySpec(
      Changes.descriptor(0),
      BucketKey.Whole,
      Scans.Nothing,
      multiValued = true
    )
    val key = Array.fill(100)(7.toByte)
    def loaded(values: Int): Bucket = {
      // Of the key and how long it is 101 bytes, and one of each value.
      val filling =
        new BucketBuilder(0, spec, assigner, null, times = null, expected = 0, mostBytes = 111)
      for (n <- 1 to values)
        filling(Record.of(key, Array(n.toByte)), if (n == 1) RecordOp.Put else RecordOp.Merge)
      filling.bucket
    }
    assert(loaded(10).size == 1)
    assert(
      intercept[InvalidException](loaded(11)).getMessage
        .contains("and its values take 112 bytes, at most 111")
    )
  }

  test("what each bucket holds is said without belief in what cannot be") {
    assert(BucketBuilder.expected(Some(640), 64) == 10)
    assert(BucketBuilder.expected(None, 64) == 0)
    assert(BucketBuilder.expected(Some(Long.MaxValue), 1) == 1 << 20)
  }
}
