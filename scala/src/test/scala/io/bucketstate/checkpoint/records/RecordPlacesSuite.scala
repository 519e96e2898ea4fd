package io.bucketstate.checkpoint.records

import java.nio.{ByteBuffer, ByteOrder}

import scala.util.Random

import io.bucketstate.record.{BucketAssigner, BucketKey, FamilySpec, Record, RecordBuffer, Scans}
import io.bucketstate.testkit.{Changes, TidySuite}

/** A record's bucket is found where it lies, and is the one that its key is looked up in. */
class RecordPlacesSuite extends TidySuite {
  private val bucketKeys = Seq(
    7 -> BucketKey.Whole,
    0 -> BucketKey.LengthPrefixed,
    3 -> BucketKey.BeforeTimestamp
  )
  private val random = new Random(14)

  private def key(bucketKey: BucketKey): Array[Byte] = {
    val rest = random.nextBytes(8 + random.nextInt(200))
    if (bucketKey != BucketKey.LengthPrefixed) rest
    else {
      val length = ByteBuffer.allocate(4).order(ByteOrder.nativeOrder)
      length.putInt(random.nextInt(rest.length + 1)).array ++ rest
    }
  }

  for {
    numBuckets <- Seq(1, 10, 64)
    (family, bucketKey) <- bucketKeys
  }
    test(s"among other bytes, of $numBuckets buckets by $bucketKey") {
      val assigner = new BucketAssigner(numBuckets)
      val places = new RecordPlaces(
        assigner,
        bucketKeys.map { case (id, of) => FamilySpec(Changes.descriptor(id), of, Scans.Nothing) }
      )
      val buffer = new RecordBuffer(assigner)
      for (_ <- 1 to 200) {
        val one = key(bucketKey)
        buffer.key(one, bucketKey)
        val record = Record.of(one, random.nextBytes(random.nextInt(20)))
        val before = random.nextBytes(random.nextInt(300))
        assert(
          places(family, before ++ record ++ random.nextBytes(9), before.length) == buffer.bucket
        )
        assert(places(family, record, 0) == buffer.bucket)
      }
    }
}
