package io.bucketstate.record

import io.bucketstate.error.InvalidException
import io.bucketstate.testkit.TidySuite

class RecordSuite extends TidySuite {

  test("a length is read back as it was written, and one that no Int can be is none") {
    for (n <- Seq(0, 1, 127, 128, 16_383, 16_384, 1 << 21, 1 << 28, Int.MaxValue)) {
      val bytes = new Array[Byte](7)
      val end = Record.putVarint(bytes, 1, n)
      assert(end == 1 + Record.varintSize(n))
      assert(Record.varint(bytes, 1, end) == n)
      assert(Record.varint(bytes, 1, end - 1) == -1, "it is cut off")
    }
    for (last <- 8 to 127) {
      val bytes = Array[Byte](-127, -128, -128, -128, last.toByte)
      assert(Record.varint(bytes, 0, bytes.length) == -1, last)
    }
    assert(Record.varint(Array[Byte](-127, -128, -128, -128, -128, 0), 0, 6) == -1)
  }

  test("a value that no array can hold is too long, before there is an array of that length") {
    val buffer = new RecordBuffer(new BucketAssigner(4))
    buffer.key(Array[Byte](1, 2, 3), BucketKey.Whole)
    for (
      (at, size) <- Seq((Int.MaxValue - 100, 200), (1 << 30, Int.MaxValue), (100, Int.MaxValue))
    ) {
      val e = intercept[InvalidException](buffer.spaceFrom(at, size))
      assert(e.getMessage.contains("Split them"), e)
    }
    buffer.spaceFrom(buffer.keyEnd, 1000)
    assert(buffer.toKeyRecord.toSeq == Seq[Byte](3, 1, 2, 3))
  }
}
