package io.bucketstate.rocksdb.state

import scala.util.Using

import io.bucketstate.record.BucketAssigner
import io.bucketstate.rocksdb.{Databases, RecordCache}
import io.bucketstate.testkit.{TextRecords, TidySuite}

/** What all databases share is there as long as a store needs it, and its memory no longer. */
class ExecutorNativeSuite extends TidySuite {
  private val assigner = new BucketAssigner(4)

  private def filled(lease: ExecutorNative.Lease): RecordCache = {
    val (part, start) = (lease.records.newPart(), lease.records.capture())
    (0 until 5000).foreach { n =>
      val record = TextRecords.record(s"key $n", "v" * 100, assigner).toRecord
      lease.records.written(part, record, start)
    }
    lease.records
  }

  test("the last store gives the memory back, whatever the next one asks for") {
    assume(ExecutorNative.stores == 0)
    val first = ExecutorNative.join(ExecutorNative.Limits(16L << 20, 1L << 30))
    val second = ExecutorNative.join(ExecutorNative.Limits(16L << 20, 1L << 30))
    val records = filled(first)
    assert(second.records eq records)
    first.close()
    first.close()
    assert(records.usedBytes > 0 && ExecutorNative.stores == 1)
    second.close()
    assert(records.usedBytes == 0 && ExecutorNative.usedBytes == 0 && ExecutorNative.stores == 0)
    Using.resource(ExecutorNative.join(ExecutorNative.Limits(32L << 20, 1L << 30))) { other =>
      assert(filled(other).bytes == (32L << 20) / 100 * 80)
    }
    assert(ExecutorNative.usedBytes == 0)
  }

  test("settings that are tried take nothing of what stores share, and leave nothing") {
    Using.resource(ExecutorNative.join(ExecutorNative.Limits(16L << 20, 1L << 30))) { lease =>
      val records = filled(lease)
      val before = records.usedBytes
      OptionsCheck.require(Databases.Plain.copy(cfOptions = Map("block_size" -> "8888")))
      assert(records.usedBytes == before && ExecutorNative.stores == 1)
    }
  }
}
