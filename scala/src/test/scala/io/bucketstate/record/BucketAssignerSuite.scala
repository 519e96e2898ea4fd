package io.bucketstate.record

import org.scalacheck.Gen
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks

import io.bucketstate.testkit.TidySuite

class BucketAssignerSuite extends TidySuite with ScalaCheckPropertyChecks {

  test("the bucket is the upper half of the hash modulo their number, whatever that is") {
    val counts = Gen.oneOf(Gen.choose(1, 32768), Gen.choose(0, 15).map(1 << _))
    val hashes = Gen.oneOf(Gen.long, Gen.oneOf(0L, -1L, Long.MinValue, Long.MaxValue))
    forAll(counts, hashes) { (count, hash) =>
      val upper = hash >>> 32
      assert(new BucketAssigner(count).bucket(hash).toLong == upper % count)
    }
  }
}
